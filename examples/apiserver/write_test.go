package apiserver_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

func TestCreate(t *testing.T) {
	mock := clock.NewMock()
	mock.Set(time.Date(2026, 11, 30, 8, 0, 0, 5e8, time.FixedZone("", 3600)))
	a := newAPI(t, apiserver.Options{Clock: mock})
	got := a.do("POST", configMaps, configMap("a",
		`,"uid":"mine","creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z","generation":77,"selfLink":"x"`))
	require.Equal(t, 201, got.code)
	made := got.object(t)
	require.Equal(t, "ConfigMap", made.Kind)
	require.Equal(t, "default", made.Metadata.Namespace)
	require.Regexp(t, `^[0-9a-f]{8}-`, made.Metadata.UID)
	require.Equal(t, "2026-11-30T07:00:00Z", made.Metadata.CreationTimestamp)
	require.Equal(t, int64(77), made.Metadata.Generation, "kept on kinds without generations")
	require.NotContains(t, got.body, "selfLink")
	require.Nil(t, made.Metadata.DeletionTimestamp)
	require.Equal(t, made, a.must("GET", configMaps+"/a", ""))

	require.Equal(t, int64(1), a.must("POST", pods, pod("a", "")).Metadata.Generation)
	created := a.must("POST", widgets, widget("a", `,"status":{"phase":"Ready"}`))
	a.must("POST", widgets, strings.Replace(widget("n", ""), `"size":1`, `"size":1,"replicas":12345678901234567`, 1))
	require.Nil(t, created.Status)
	require.Equal(t, map[string]any{"size": 1.0, "color": "blue"}, created.Spec)
	require.Contains(t, a.do("GET", widgets+"/n", "").body, `"replicas":12345678901234567`, "integers are kept exactly")

	for body, code := range map[string]int{
		configMap("x", `,"namespace":"other"`): 400,
		`{"kind":"Pod","apiVersion":"v1"}`:     400,
		`{"metadata":{"name":5}}`:              400,
		`{}`:                                   422,
		configMap("Bad_Name", ""):              422,
	} {
		require.Equal(t, code, a.do("POST", configMaps, body).code, body)
	}
	missing := a.do("POST", "/api/v1/namespaces/nope/configmaps", configMap("x", ""))
	require.Equal(t, 404, missing.code)
	require.Equal(t, `namespaces "nope" not found`, missing.object(t).Message)
	require.Equal(t, 400, a.do("POST", widgets, configMap("x", "")).code, "custom kinds must be named")
	require.Equal(t, 201, a.do("POST", configMaps+"?dryRun=All", configMap("x", "")).code)
	require.Equal(t, 404, a.do("GET", configMaps+"/x", "").code, "a dry run leaves nothing")
}

func TestGenerateName(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	made := a.must("POST", configMaps, `{"metadata":{"generateName":"gen-"}}`)
	require.Regexp(t, `^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$`, made.Metadata.Name)
	require.Equal(t, "gen-", made.Metadata.GenerateName)
	both := a.must("POST", configMaps, configMap("both", `,"generateName":"gen-"`))
	require.Equal(t, "both", both.Metadata.Name)
	long := a.must("POST", configMaps, fmt.Sprintf(`{"metadata":{"generateName":%q}}`, strings.Repeat("x", 80)))
	require.Len(t, long.Metadata.Name, 63)
}

func TestTerminatingNamespaceTakesNothing(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	a.must("POST", "/api/v1/namespaces", configMap("going", `,"finalizers":["example.com/hold"]`))
	a.must("DELETE", "/api/v1/namespaces/going", "")
	got := a.do("POST", "/api/v1/namespaces/going/configmaps", configMap("x", ""))
	require.Equal(t, 403, got.code)
	require.Contains(t, got.body, `"reason":"NamespaceTerminating"`)
	require.Equal(t, "going", a.must("GET", "/api/v1/namespaces/going", "").Metadata.Labels["kubernetes.io/metadata.name"])
}

func TestUpdate(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	made := a.must("POST", configMaps, configMap("a", ""))
	got := a.must("PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	require.Equal(t, made.Metadata.UID, got.Metadata.UID)
	require.Equal(t, made.Metadata.CreationTimestamp, got.Metadata.CreationTimestamp)
	require.Equal(t, map[string]string{"k": "v"}, got.Data)
	require.NotEqual(t, made.Metadata.ResourceVersion, got.Metadata.ResourceVersion)

	for _, c := range []struct {
		path, body string
		code       int
		message    string
	}{
		{"/a", configMap("b", ""), 400, "the name of the object (b) does not match the name on the URL (a)"},
		{"/a", configMap("a", `,"namespace":"other"`), 400, "the namespace of the provided object"},
		{"/a", configMap("a", `,"uid":"zzz"`), 409, "Precondition failed: UID in precondition: zzz, UID in object meta: "},
		{"/a", configMap("a", `,"resourceVersion":"99999"`), 409, "the object has been modified"},
		{"/a", configMap("a", `,"resourceVersion":"xyz"`), 500, "resourceVersion: Invalid value"},
		{"/b", configMap("b", ""), 404, `configmaps "b" not found`},
		{"/a", configMap("a", `,"labels":{"-":"x"}`), 422, "metadata.labels"},
	} {
		got := a.do("PUT", configMaps+c.path, c.body)
		require.Equal(t, c.code, got.code, c.body)
		require.Contains(t, got.object(t).Message, c.message)
	}
	require.Equal(t, 200, a.do("PUT", configMaps+"/a", configMap("a", `,"resourceVersion":"0"`)).code)

	a.must("POST", widgets, widget("w", ""))
	unversioned := a.do("PUT", widgets+"/w", widget("w", ""))
	require.Equal(t, 422, unversioned.code)
	require.Equal(t, `widgets.wire.example.com "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`,
		unversioned.object(t).Message)
	require.Equal(t, 404, a.do("PUT", widgets+"/v", widget("v", "")).code, "what is not there has no version to specify")
}

func versioned(body, version string) string {
	return strings.Replace(body, `"metadata":{`, `"metadata":{"resourceVersion":"`+version+`",`, 1)
}

// Spec and status are written apart, and only the spec makes generations.
func TestStatusSubresource(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	made := a.must("POST", widgets, widget("w", ""))
	got := a.must("PUT", widgets+"/w/status", versioned(
		strings.Replace(widget("w", `,"status":{"phase":"Ready"}`), `"size":1`, `"size":9`, 1), made.Metadata.ResourceVersion))
	require.Equal(t, map[string]any{"phase": "Ready"}, got.Status)
	require.Equal(t, 1.0, got.Spec.(map[string]any)["size"])
	require.Equal(t, int64(1), got.Metadata.Generation)
	require.Equal(t, got, a.must("GET", widgets+"/w/status", ""))

	got = a.must("PUT", widgets+"/w", versioned(
		strings.Replace(widget("w", `,"status":{"phase":"Bad"}`), `"size":1`, `"size":9`, 1), got.Metadata.ResourceVersion))
	require.Equal(t, map[string]any{"phase": "Ready"}, got.Status)
	require.Equal(t, 9.0, got.Spec.(map[string]any)["size"])
	require.Equal(t, int64(2), got.Metadata.Generation)

	labelled := a.must("PUT", widgets+"/w", versioned(
		`{"kind":"Widget","apiVersion":"wire.example.com/v1","metadata":{"name":"w","labels":{"a":"b"}},"spec":{"size":9,"color":"blue"}}`,
		got.Metadata.ResourceVersion))
	require.Equal(t, int64(2), labelled.Metadata.Generation, "labels make no generation")
	require.NotEqual(t, got.Metadata.ResourceVersion, labelled.Metadata.ResourceVersion)

	a.must("POST", pods, pod("p", ""))
	running := a.must("PUT", pods+"/p/status", `{"metadata":{"name":"p"},"status":{"phase":"Running"}}`)
	require.Equal(t, "Running", running.Status.(map[string]any)["phase"])
	require.Equal(t, "Running", a.must("PUT", pods+"/p", strings.Replace(pod("p", ""), `"i"`, `"j"`, 1)).Status.(map[string]any)["phase"])
}

// deletionRule is one rule about deletes. Rules build on those before.
type deletionRule struct {
	rule string
	test func(t *testing.T)
}

// Scenario 105, a row per rule.
func TestDeletionRules(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	for _, r := range append(finalizerRules(a), conflictRules(a)...) {
		t.Run(r.rule, r.test)
	}
	require.Equal(t, 400, a.do("DELETE", configMaps+"/fresh", `{`).code)
	require.Equal(t, 200, a.do("DELETE", configMaps+"/fresh", `{"dryRun":["All"]}`).code)
	require.Equal(t, 200, a.do("DELETE", configMaps+"/fresh?dryRun=All", "").code)
	require.Equal(t, 422, a.do("DELETE", configMaps+"/fresh?dryRun=true", "").code)
	require.Equal(t, 400, a.do("DELETE", configMaps+"/fresh?gracePeriodSeconds=x", "").code)
}

func finalizerRules(a *api) []deletionRule {
	const held = `,"finalizers":["example.com/a","example.com/b"]`
	return []deletionRule{
		{"a delete with finalizers sets deletionTimestamp and sends MODIFIED, and the object stays", func(t *testing.T) {
			made := a.must("POST", configMaps, configMap("held", held))
			w := a.watch(configMaps + "?watch=true&resourceVersion=" + made.Metadata.ResourceVersion)
			got := a.must("DELETE", configMaps+"/held", "")
			require.Equal(t, "ConfigMap", got.Kind, "the object comes back")
			require.NotNil(t, got.Metadata.DeletionTimestamp)
			require.Zero(t, *got.Metadata.DeletionGracePeriodSeconds)
			w.want("MODIFIED held " + got.Metadata.ResourceVersion)
			require.Equal(t, got, a.must("DELETE", configMaps+"/held", ""), "a second delete changes nothing")
			require.Equal(t, got, a.must("GET", configMaps+"/held", ""))
		}},
		{"removing the last finalizer removes the object and sends DELETED", func(t *testing.T) {
			before := a.must("GET", configMaps+"/held", "")
			w := a.watch(configMaps + "?watch=true&resourceVersion=" + before.Metadata.ResourceVersion)
			first := a.must("PUT", configMaps+"/held", configMap("held", `,"finalizers":["example.com/b"]`))
			last := a.must("PUT", configMaps+"/held", configMap("held", ""))
			require.Equal(t, first.Metadata.ResourceVersion, last.Metadata.ResourceVersion, "the version from before the deletion")
			require.Equal(t, 404, a.do("GET", configMaps+"/held", "").code)
			w.want("MODIFIED held " + first.Metadata.ResourceVersion)
			deleted, err := w.next()
			require.NoError(t, err)
			require.Equal(t, "DELETED held "+older(t, first.Metadata.ResourceVersion, -1), deleted.short())
			require.Equal(t, []string{"example.com/b"}, deleted.Object.Metadata.Finalizers, "the last state that was stored")
		}},
		{"Create ignores a given deletionTimestamp", func(t *testing.T) {
			got := a.must("POST", configMaps, configMap("fresh", held+`,"deletionTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":0`))
			require.Nil(t, got.Metadata.DeletionTimestamp)
			require.Nil(t, got.Metadata.DeletionGracePeriodSeconds)
		}},
		{"Update may neither set nor clear it", func(t *testing.T) {
			got := a.must("PUT", configMaps+"/fresh", configMap("fresh", held+`,"deletionTimestamp":"2020-01-01T00:00:00Z"`))
			require.Nil(t, got.Metadata.DeletionTimestamp)
			marked := a.must("DELETE", configMaps+"/fresh", "")
			got = a.must("PUT", configMaps+"/fresh", configMap("fresh", held))
			require.Equal(t, marked.Metadata.DeletionTimestamp, got.Metadata.DeletionTimestamp)
		}},
		{"nor add a finalizer once it is set", func(t *testing.T) {
			got := a.do("PUT", configMaps+"/fresh", configMap("fresh", `,"finalizers":["example.com/a","example.com/new"]`))
			require.Equal(t, 422, got.code)
			require.Contains(t, got.object(t).Message, `no new finalizers can be added if the object is being deleted, found new finalizers ["example.com/new"]`)
		}},
	}
}

func conflictRules(a *api) []deletionRule {
	return []deletionRule{
		{"a status update with an old version is 409", func(t *testing.T) {
			made := a.must("POST", widgets, widget("w", ""))
			status := widget("w", `,"status":{"phase":"Ready"}`)
			a.must("PUT", widgets+"/w/status", versioned(status, made.Metadata.ResourceVersion))
			got := a.do("PUT", widgets+"/w/status", versioned(status, made.Metadata.ResourceVersion))
			require.Equal(t, 409, got.code)
			require.Equal(t, "Conflict", got.object(t).Reason)
		}},
		{"a delete with a precondition that does not hold is 409", func(t *testing.T) {
			made := a.must("POST", configMaps, configMap("p", ""))
			for _, precondition := range []string{`"uid":"zzz"`, `"resourceVersion":"1"`} {
				got := a.do("DELETE", configMaps+"/p", `{"preconditions":{`+precondition+`}}`)
				require.Equal(t, 409, got.code)
				require.Contains(t, got.object(t).Message, "in the precondition")
			}
			got := a.do("DELETE", configMaps+"/p", fmt.Sprintf(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`,
				made.Metadata.UID, made.Metadata.ResourceVersion))
			require.Equal(t, 200, got.code)
			uid := regexp.MustCompile(`"uid":"[^"]*"`)
			require.JSONEq(t,
				uid.ReplaceAllString(strings.ReplaceAll(recorded(t, "delete-status-success.json"), `"s"`, `"p"`), ""+`"uid":"`+made.Metadata.UID+`"`),
				got.body)
		}},
		{"after the deletion an update, a status update and a delete are NotFound", func(t *testing.T) {
			require.Equal(t, 404, a.do("PUT", configMaps+"/p", configMap("p", "")).code)
			require.Equal(t, 404, a.do("DELETE", configMaps+"/p", "").code)
			a.must("DELETE", widgets+"/w", "")
			require.Equal(t, 404, a.do("PUT", widgets+"/w/status", versioned(widget("w", ""), "1")).code)
		}},
	}
}

// Pods that a node runs are given time to end; the others go in two steps at once.
func TestGracefulDeletion(t *testing.T) {
	mock := clock.NewMock()
	a := newAPI(t, apiserver.Options{Clock: mock})
	start := a.must("GET", pods, "").Metadata.ResourceVersion
	a.must("POST", pods, pod("free", ""))
	gone := a.must("DELETE", pods+"/free", "")
	require.Equal(t, "Pod", gone.Kind)
	require.Equal(t, 404, a.do("GET", pods+"/free", "").code)

	a.must("POST", pods, pod("bound", `,"nodeName":"n"`))
	marked := a.must("DELETE", pods+"/bound", "")
	require.Equal(t, int64(30), *marked.Metadata.DeletionGracePeriodSeconds)
	require.Equal(t, "1970-01-01T00:00:30Z", *marked.Metadata.DeletionTimestamp)
	require.Equal(t, int64(2), marked.Metadata.Generation)
	require.Equal(t, marked, a.must("DELETE", pods+"/bound", ""), "nothing new")
	require.Equal(t, marked, a.must("DELETE", pods+"/bound", `{"gracePeriodSeconds":60}`), "never longer")
	shorter := a.must("DELETE", pods+"/bound?gracePeriodSeconds=10", "")
	require.Equal(t, "1970-01-01T00:00:10Z", *shorter.Metadata.DeletionTimestamp)
	last := a.must("DELETE", pods+"/bound", `{"gracePeriodSeconds":0}`)
	require.Equal(t, 404, a.do("GET", pods+"/bound", "").code)

	w := a.watch(pods + "?watch=true&resourceVersion=" + start)
	for i, want := range []string{
		"ADDED free", "MODIFIED free", "DELETED free",
		"ADDED bound", "MODIFIED bound", "MODIFIED bound", "MODIFIED bound", "DELETED bound",
	} {
		w.want(want + " " + older(t, start, -1-i))
	}
	require.Equal(t, older(t, start, -8), last.Metadata.ResourceVersion)

	a.must("POST", pods, `{"metadata":{"name":"held","finalizers":["example.com/a"]},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	a.must("DELETE", pods+"/held", "")
	require.Equal(t, []string{"example.com/a"}, a.must("GET", pods+"/held", "").Metadata.Finalizers)
}
