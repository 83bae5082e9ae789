package conformance

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What can't be equal on two servers is replaced, and nothing else.
func TestNormal(t *testing.T) {
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		`{"metadata":{"uid":"00000000-0000-0000-0000-00000000000a","resourceVersion":"7"}}`:                   `{"metadata":{"uid":"uid-1.2","resourceVersion":"version-1.1"}}`,
		`[{"resourceVersion":"7"},{"resourceVersion":"9"},{"resourceVersion":"7"}]`:                           `[{"resourceVersion":"version-1.1"},{"resourceVersion":"version-1.2"},{"resourceVersion":"version-1.1"}]`,
		`{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":2}}`:       `{"kind":"PodList","metadata":{"resourceVersion":"VERSION","continue":"CONTINUE","remainingItemCount":2}}`,
		`{"kind":"PodList","metadata":{"resourceVersion":"","continue":""}}`:                                  `{"kind":"PodList","metadata":{"resourceVersion":"","continue":""}}`,
		`{"a":"2026-12-01T01:30:00Z","b":"2020-01-01T00:00:00Z","c":"2026-12-01T01:30:00.000001Z"}`:           `{"a":"TIME","b":"2020-01-01T00:00:00Z","c":"MICROTIME"}`,
		`{"clusterIP":"10.0.0.7","clusterIPs":["10.0.0.7"],"x":{"clusterIP":"None"},"nodePort":30001}`:        `{"clusterIP":"ADDRESS","clusterIPs":["ADDRESS"],"x":{"clusterIP":"None"},"nodePort":"PORT"}`,
		`{"cells":["a","5s","2m3s",0,null,"10.0.0.1"],"other":["5s"]}`:                                        `{"cells":["a","AGE","AGE",0,null,"ADDRESS"],"other":["5s"]}`,
		`{"metadata":{"generateName":"gen-","name":"gen-x2b4c"},"message":"gen-x2b4c is there"}`:              `{"metadata":{"generateName":"gen-","name":"gen-XXXXX"},"message":"gen-XXXXX is there"}`,
		`{"message":"Too large resource version: 99, current: 5; ask http://127.0.0.1:1234/api"}`:             `{"message":"Too large resource version: 99, current: N; ask http://HOST/api"}`,
		`"apiVersion: v1\nmetadata:\n  resourceVersion: \"12\"\n  uid: 00000000-0000-0000-0000-00000000000a"`: `"apiVersion: v1\nmetadata:\n  resourceVersion: VERSION\n  uid: uid-1.1"`,
	} {
		v, err := decodeJSON([]byte(in))
		require.NoError(t, err)
		n := newNormal(now, "http://127.0.0.1:1234")
		n.next()
		n.generated(`{"metadata":{"generateName":"gen-"}}`)
		got, err := json.Marshal(n.body(v))
		require.NoError(t, err)
		require.JSONEq(t, want, string(got))
	}
}

func TestParse(t *testing.T) {
	cases, err := parse("== one\n# why\n> POST ~/pods\n+ A: b: c\n{\n \"x\"}\n\n> a: GET /x?y=z\n== two\n> WATCH 3 ~apps/v1/deployments?watch\n")
	require.NoError(t, err)
	require.Equal(t, []Case{
		{Name: "one", Steps: []Step{
			{Method: "POST", Path: "~/pods", Header: [][2]string{{"A", "b: c"}}, Body: "{\n \"x\"}"},
			{Name: "a", Method: "GET", Path: "/x?y=z"},
		}},
		{Name: "two", Steps: []Step{{Method: "WATCH", Events: 3, Path: "~apps/v1/deployments?watch"}}},
	}, cases)
	for _, bad := range []string{"> GET /", "== a\nbody", "== a\n> get /", "== a\n> GET / more"} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}

// Requests are made of what the script says and of earlier answers.
func TestRun(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("X"))
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/api/v1/namespaces" {
			w.WriteHeader(http.StatusCreated)
		}
		_, err := w.Write([]byte(`{"metadata":{"resourceVersion":"7"},"items":[{"n":5}]}`))
		require.NoError(t, err)
	}))
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	target := Target{URL: server.URL, Client: &http.Client{Transport: transport}}
	c := Case{Name: "A case", Steps: []Step{
		{Name: "a", Method: "GET", Path: "~/pods/{x*3}"},
		{Method: "WATCH", Events: 1, Path: "~apps/v1/deployments/d/status", Header: [][2]string{{"X", "{a.metadata.resourceVersion} {a.items.0.n} {ns}"}}},
	}}
	answers, err := c.Run(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, []string{
		"POST /api/v1/namespaces ", "GET /api/v1/namespaces/a-case/pods/xxx ",
		"GET /apis/apps/v1/namespaces/a-case/deployments/d/status 7 5 a-case",
	}, seen)
	require.Equal(t, map[string][]string{"Content-Type": {"application/json"}}, answers[0].Header)
	require.Len(t, answers[1].Body, 1)
	require.Empty(t, Compare(answers[0], answers[0]))
	require.Contains(t, Compare(answers[0], answers[1]), "WATCH 1 ~apps")
	for _, path := range []string{"~/{b.metadata.uid}", "~/{a.nothing.x}", "~/{a.items.7.n}"} {
		_, err := Case{Name: "bad", Steps: []Step{c.Steps[0], {Method: "GET", Path: path}}}.Run(t.Context(), target)
		require.Error(t, err, path)
	}
}
