package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
)

// Scenario 108.
func TestDeletedHasTheDeletionsVersion(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	made := a.must("POST", configMaps, configMap("o", `,"labels":{"app":"x"}`))
	for i := range 10 {
		a.must("POST", configMaps, configMap(fmt.Sprintf("other-%d", i), ""))
	}
	a.must("DELETE", configMaps+"/o", "")
	deletion := older(t, made.Metadata.ResourceVersion, -11)
	for _, query := range []string{"", "fieldSelector=metadata.name%3Do", "labelSelector=app%3Dx"} {
		w := a.watch(configMaps + "?watch=true&resourceVersion=" + made.Metadata.ResourceVersion + "&" + query)
		for i := 0; i < 10 && query == ""; i++ {
			w.want(fmt.Sprintf("ADDED other-%d %s", i, older(t, made.Metadata.ResourceVersion, -1-i)))
		}
		got, err := w.next()
		require.NoError(t, err)
		want := made
		want.Metadata.ResourceVersion = deletion
		require.Equal(t, event{"DELETED", want}, got, "the last contents")
	}
	again := a.must("POST", configMaps, configMap("next", ""))
	a.watch(configMaps + "?watch=true&resourceVersion=" + deletion).want("ADDED next " + again.Metadata.ResourceVersion)
}

// Scenario 110, and the same changes as in the recorded watches.
func TestSelectorTransitions(t *testing.T) {
	a := newAPI(t, apiserver.Options{Namespaces: []string{"w3"}})
	const path = "/api/v1/namespaces/w3/configmaps"
	start := a.must("GET", path, "").Metadata.ResourceVersion
	set := func(app, step, rest string) string {
		return fmt.Sprintf(`{"metadata":{"name":"t","labels":{"app":%q}%s},"data":{"step":%q}}`, app, rest, step)
	}
	a.must("POST", path, set("x", "1", ""))
	a.must("PUT", path+"/t", set("x", "2", ""))
	a.must("PUT", path+"/t", set("y", "3", ""))
	a.must("PUT", path+"/t", set("y", "4", ""))
	a.must("PUT", path+"/t", set("x", "5", ""))
	a.must("DELETE", path+"/t", "")
	a.must("POST", path, set("y", "6", ""))
	a.must("DELETE", path+"/t", "")

	watch := func(query string, n int) []string {
		w := a.watch(path + "?watch=true&resourceVersion=" + start + query)
		var got []string
		for range n {
			e, err := w.next()
			require.NoError(t, err)
			got = append(got, summary(t, e, start))
		}
		return got
	}
	wantFile := func(file, start string, n int) []string {
		var want []string
		for line := range strings.SplitSeq(recorded(t, file), "\n") {
			var e event
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			if want = append(want, summary(t, e, start)); len(want) == n {
				break
			}
		}
		return want
	}
	// One that is deleted after it has ceased to match is told no more.
	at := func(n int) string { return older(t, start, -8-n) }
	other := func(app string) string { return configMap("u", fmt.Sprintf(`,"labels":{"app":%q}`, app)) }
	a.must("POST", path, other("x"))
	a.must("PUT", path+"/u", other("y"))
	a.must("DELETE", path+"/u", "")
	a.must("POST", path, configMap("v", `,"labels":{"app":"x"}`))
	a.watch(path+"?watch=true&labelSelector=app%3Dx&resourceVersion="+at(0)).want(
		"ADDED u "+at(1), "DELETED u "+at(2), "ADDED v "+at(4))

	require.Equal(t, wantFile("watch-selector-transition.jsonl", "619", 5), watch("&labelSelector=app%3Dx", 6)[:5])
	require.Contains(t, watch("&labelSelector=app%3Dx", 6)[5], "ADDED", "of u, and nothing before")
	require.Equal(t, wantFile("watch-selector-transition-all.jsonl", "619", 6), watch("", 8)[:6])
}

// summary is what a watch tells by an event, with versions relative to the start.
func summary(t testing.TB, e event, start string) string {
	t.Helper()
	n, err := strconv.Atoi(start)
	require.NoError(t, err)
	return fmt.Sprint(e.Type, e.Object.Kind, older(t, e.Object.Metadata.ResourceVersion, n), e.Object.Metadata.Labels,
		e.Object.Data, e.Object.Metadata.Finalizers, e.Object.Metadata.DeletionTimestamp != nil)
}

func TestFinalizerEventsAsRecorded(t *testing.T) {
	a := newAPI(t, apiserver.Options{Namespaces: []string{"w3"}})
	const path = "/api/v1/namespaces/w3/configmaps"
	start := a.must("GET", path, "").Metadata.ResourceVersion
	a.must("POST", path, configMap("fin2", `,"finalizers":["example.com/a","example.com/b"]`))
	a.must("DELETE", path+"/fin2", "")
	a.must("DELETE", path+"/fin2", "")
	a.must("PUT", path+"/fin2", configMap("fin2", `,"finalizers":["example.com/b"]`))
	a.must("PUT", path+"/fin2", configMap("fin2", ""))
	a.must("POST", path, configMap("fin2", ""))
	w := a.watch(path + "?watch=true&resourceVersion=" + start)
	for line := range strings.SplitSeq(recorded(t, "watch-finalizer.jsonl"), "\n") {
		var want event
		require.NoError(t, json.Unmarshal([]byte(line), &want))
		got, err := w.next()
		require.NoError(t, err)
		require.Equal(t, summary(t, want, "1501"), summary(t, got, start))
	}
}

// Scenario 110 with a field.
func TestFieldSelectorTransitions(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	v := a.must("GET", pods, "").Metadata.ResourceVersion
	at := func(n int) string { return older(t, v, -n) }
	a.must("POST", pods, pod("p", ""))
	a.must("POST", pods+"/p/binding", `{"metadata":{"name":"p"},"target":{"kind":"Node","name":"n"}}`)
	a.must("PUT", pods+"/p", strings.Replace(pod("p", `,"nodeName":"n"`), `"i"`, `"j"`, 1))
	a.must("DELETE", pods+"/p", `{"gracePeriodSeconds":0}`)
	a.must("POST", pods, pod("q", ""))
	a.watch(pods+"?watch=true&resourceVersion="+v+"&fieldSelector=spec.nodeName%3D").want(
		"ADDED p "+at(1), "DELETED p "+at(2), "ADDED q "+at(6))
}

// Where a watch starts.
func TestWatchStart(t *testing.T) {
	a := newAPI(t, apiserver.Options{FutureWait: 1})
	b := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	first := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	const initial = "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&sendInitialEvents="
	all := []string{"ADDED a " + first, "ADDED b " + b}
	end := "BOOKMARK  " + first
	starts := []struct {
		query string
		want  []string
	}{
		{"", all},
		{"&resourceVersion=0", all},
		{"&resourceVersion=0&allowWatchBookmarks=true", append(all[:2:2], end)},
		{"&resourceVersion=" + b, []string{"ADDED a " + first}},
		{"&resourceVersion=" + first, nil},
		{initial + "true", append(all[:2:2], end)},
		{initial + "bogus&resourceVersion=1", append(all[:2:2], end)},
		{"&resourceVersionMatch=NotOlderThan&sendInitialEvents=true", all},
		{initial + "true&labelSelector=no%3Dsuch", []string{end}},
		{initial + "false", nil},
		{initial + "false&resourceVersion=" + b, []string{"ADDED a " + first}},
	}
	var streams []*stream
	for _, c := range starts {
		w := a.watch(configMaps + "?watch=true" + c.query)
		for _, want := range c.want {
			got, err := w.next()
			require.NoError(t, err)
			require.Equal(t, want, got.short(), c.query)
			if got.Type == "BOOKMARK" {
				require.Equal(t, map[string]string{"k8s.io/initial-events-end": "true"}, got.Object.Metadata.Annotations)
				require.Equal(t, "ConfigMap", got.Object.Kind)
			}
		}
		streams = append(streams, w)
	}
	next := a.must("PUT", configMaps+"/a", configMap("a", `,"labels":{"no":"such"}`)).Metadata.ResourceVersion
	for i, w := range streams {
		want := "MODIFIED a " + next
		if strings.Contains(starts[i].query, "labelSelector") {
			want = "ADDED a " + next
		}
		w.want(want)
	}
}

// Any value but 0 and false asks for a watch, also in the path.
func TestWatchForms(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	next := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	for _, path := range []string{
		configMaps + "?watch&timeoutSeconds=-1", configMaps + "?watch=bogus&timeoutSeconds=-1",
		"/api/v1/watch/namespaces/default/configmaps?resourceVersion=" + next + "&timeoutSeconds=-1",
	} {
		require.NotContains(t, a.do("GET", path, "").body, "items", path)
	}
	one := a.watch("/api/v1/watch/namespaces/default/configmaps/b")
	one.want("ADDED b " + next)
	for query, code := range map[string]int{
		"resourceVersionMatch=NotOlderThan":                 422,
		"sendInitialEvents=true&resourceVersionMatch=Exact": 422,
		"resourceVersion=abc":                               500,
		"resourceVersion=-1":                                500,
		"labelSelector=a+b":                                 400,
		"fieldSelector=spec.x%3D1":                          400,
	} {
		require.Equal(t, code, a.do("GET", configMaps+"?watch=true&"+query, "").code, query)
	}
}

func TestPodBookmarkHasItsZeroFields(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	got := a.do("GET", pods+"?watch=true&allowWatchBookmarks=true&resourceVersion=0&timeoutSeconds=-1", "").body
	if got != "" { // the planned end may come first
		require.Contains(t, got, `"spec":{"containers":null},"status":{}`)
	}
}

// Scenario 113.
func TestWatchOfCompactedHistory(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	old := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	for i := range 5 {
		a.must("PUT", configMaps+"/a", configMap("a", fmt.Sprintf(`,"labels":{"i":"%d"}`, i)))
	}
	running := a.watch(configMaps + "?watch=true&resourceVersion=" + older(t, old, -5))
	require.NoError(t, a.server.Compact(t.Context()))
	require.NoError(t, a.server.Compact(t.Context()))
	events := a.watch(configMaps + "?watch=true&resourceVersion=" + old).rest()
	require.Len(t, events, 1, "no event comes before")
	want := strings.Replace(recorded(t, "watch-410.jsonl"), "342 (382)", old+" ("+older(t, old, -5)+")", 1)
	var e event
	require.NoError(t, json.Unmarshal([]byte(want), &e))
	require.Empty(t, cmp.Diff(e, events[0]))
	// The newest version of what lives may be compacted, too: a watch starts at that of a list.
	live := a.must("GET", configMaps+"/a", "").Metadata.ResourceVersion
	a.must("POST", pods, pod("p", ""))
	a.must("POST", pods, pod("q", ""))
	require.NoError(t, a.server.Compact(t.Context()))
	events = a.watch(configMaps + "?watch=true&resourceVersion=" + live).rest()
	require.Len(t, events, 1)
	require.Equal(t, 410, events[0].Object.Code)
	nowhere := a.watch(configMaps + "?watch=true")
	listed := a.watch(configMaps + "?watch=true&resourceVersion=" + a.must("GET", configMaps, "").Metadata.ResourceVersion)
	// Who runs already is not disturbed, nor who starts at the newest version.
	next := a.must("POST", configMaps, configMap("b", "")).Metadata.ResourceVersion
	running.want("ADDED b " + next)
	nowhere.want("ADDED a "+live, "ADDED b "+next)
	listed.want("ADDED b " + next)
	a.watch(configMaps + "?watch=true&resourceVersion=" + older(t, next, 1)).want("ADDED b " + next)
}

// Scenario 117.
func TestWriteOfNothingIsNoChange(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	bodies := map[string]string{
		configMaps: `{"metadata":{"name":"n","labels":{"a":"1","b":"2"}},"data":{"x":"1","y":"2"}}`,
		widgets:    widget("n", ""),
		pods:       pod("n", ""),
	}
	shuffled := map[string]string{
		configMaps: `{"data":{"y":"2","x":"1"},"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"b":"2","a":"1"},"name":"n"}}`,
		widgets:    `{"spec":{"size":1,"color":"blue"},"metadata":{"name":"n"},"apiVersion":"wire.example.com/v1","kind":"Widget"}`,
		pods:       `{"spec":{"volumes":[],"containers":[{"image":"i","name":"c"}]},"metadata":{"name":"n","labels":{}}}`,
	}
	for path, body := range bodies {
		made := a.must("POST", path, body)
		version := made.Metadata.ResourceVersion
		for _, again := range []string{body, shuffled[path]} {
			require.Equal(t, made, a.must("PUT", path+"/n", versioned(again, version)), path)
		}
		if path != configMaps {
			withStatus := versioned(strings.TrimSuffix(body, "}")+`,"status":{"phase":"Running"}}`, version)
			first := a.must("PUT", path+"/n/status", withStatus)
			require.NotEqual(t, version, first.Metadata.ResourceVersion)
			version = first.Metadata.ResourceVersion
			require.Equal(t, first, a.must("PUT", path+"/n/status",
				versioned(strings.TrimSuffix(body, "}")+`,"status":{"phase":"Running"}}`, version)))
		}
		next := a.must("POST", path, strings.Replace(body, `"name":"n"`, `"name":"next"`, 1))
		require.Equal(t, older(t, version, -1), next.Metadata.ResourceVersion, "no version was used")
		a.watch(path + "?watch=true&resourceVersion=" + version).want("ADDED next " + next.Metadata.ResourceVersion)
	}
}

// Scenario 109.
func TestManyWatchersEachVersionOnce(t *testing.T) {
	a := newAPI(t, apiserver.Options{})
	const watchers, writes = 100, 150
	start := a.must("POST", configMaps, configMap("a", "")).Metadata.ResourceVersion
	var group sync.WaitGroup
	group.Go(func() {
		for i := range writes {
			r, err := a.send(t.Context(), "PUT", configMaps+"/a", configMap("a", fmt.Sprintf(`,"labels":{"i":"%d"}`, i)))
			if err != nil {
				t.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, r.Body)
			if err := errors.Join(err, r.Body.Close()); err != nil {
				t.Error(err)
			}
		}
	})
	first, err := strconv.Atoi(start)
	require.NoError(t, err)
	for i := range watchers {
		group.Go(func() {
			after, query := first+i%20, "&resourceVersion="+strconv.Itoa(first+i%20)
			if i%2 == 0 {
				after, query = 0, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
			}
			if err := readInOrder(t.Context(), a, query, after, first+writes); err != nil {
				t.Errorf("watch after %d: %v", after, err)
			}
		})
	}
	group.Wait()
}

// readInOrder watches from a version until another has come, and fails unless each between
// comes once and in order. After 0 the initial state comes first, once, and then its version.
func readInOrder(ctx context.Context, a *api, query string, after, last int) error {
	response, err := a.send(ctx, "GET", configMaps+"?watch=true"+query, "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	d := json.NewDecoder(response.Body)
	if after == 0 {
		var initial, end event
		if err := errors.Join(d.Decode(&initial), d.Decode(&end)); err != nil {
			return err
		}
		version := initial.Object.Metadata.ResourceVersion
		if initial.Type != "ADDED" || end.short() != "BOOKMARK  "+version {
			return fmt.Errorf("initial state: %s, %s", initial.short(), end.short())
		}
		if after, err = strconv.Atoi(version); err != nil {
			return err
		}
	}
	for want := after + 1; want <= last; want++ {
		var e event
		if err := d.Decode(&e); err != nil {
			return err
		}
		if got := e.Object.Metadata.ResourceVersion; got != strconv.Itoa(want) {
			return fmt.Errorf("%s instead of %d", got, want)
		}
	}
	return nil
}
