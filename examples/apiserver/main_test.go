package apiserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		runChild(dir)
		return
	}
	// A connection by SPDY that could not say good-bye waits for a second for somebody to ask why.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

// api is a server with a client that knows nothing but HTTP.
type api struct {
	t      testing.TB
	server *apiserver.Server
	client *http.Client
}

func newAPI(t testing.TB, o apiserver.Options) *api {
	t.Helper()
	if o.Definitions == nil {
		o.Definitions = []*crd.Definition{crd.Widgets()}
	}
	server, err := apiserver.Start(t.Context(), o)
	require.NoError(t, err)
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
	})
	return &api{t: t, server: server, client: &http.Client{Transport: transport}}
}

// cutConnections cuts all connections. Those that the client would use again are forgotten, since
// it cannot repeat a write that it has sent.
func (a *api) cutConnections() {
	a.server.CutConnections()
	a.client.CloseIdleConnections()
}

// answer is what came back.
type answer struct {
	code   int
	header http.Header
	body   string
}

// object reads the body as JSON.
func (a answer) object(t testing.TB) object {
	t.Helper()
	var o object
	require.NoError(t, json.Unmarshal([]byte(a.body), &o), a.body)
	return o
}

type metadata struct {
	Name, Namespace, UID, ResourceVersion, GenerateName string
	Generation                                          int64
	Labels, Annotations                                 map[string]string
	Finalizers                                          []string
	CreationTimestamp                                   string
	DeletionTimestamp                                   *string
	DeletionGracePeriodSeconds                          *int64
	Continue                                            string
	RemainingItemCount                                  *int64
}

type object struct {
	Kind, APIVersion string
	Metadata         metadata
	Data             map[string]string
	Spec, Status     any
	Items            []object
	Message, Reason  string
	Code             int
}

func (a *api) send(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.server.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return a.client.Do(r)
}

// do sends a request and reads the answer.
func (a *api) do(method, path, body string, header ...string) answer {
	a.t.Helper()
	response, err := a.send(a.t.Context(), method, path, body, header...)
	require.NoError(a.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(a.t, err)
	return answer{response.StatusCode, response.Header, string(data)}
}

// must does what has to succeed and returns the object that came back.
func (a *api) must(method, path, body string) object {
	a.t.Helper()
	got := a.do(method, path, body)
	require.Less(a.t, got.code, 300, got.body)
	return got.object(a.t)
}

const (
	pods       = "/api/v1/namespaces/default/pods"
	configMaps = "/api/v1/namespaces/default/configmaps"
	widgets    = "/apis/wire.example.com/v1/namespaces/default/widgets"
)

func configMap(name, rest string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q%s}}`, name, rest)
}

func pod(name, rest string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i"}]%s}}`, name, rest)
}

func widget(name, rest string) string {
	return fmt.Sprintf(`{"kind":"Widget","apiVersion":"wire.example.com/v1","metadata":{"name":%q},"spec":{"size":1}%s}`, name, rest)
}

// event is one line of a watch.
type event struct {
	Type   string
	Object object
}

// short is the event as "TYPE name version".
func (e event) short() string {
	return fmt.Sprintf("%s %s %s", e.Type, e.Object.Metadata.Name, e.Object.Metadata.ResourceVersion)
}

// stream is a running watch.
type stream struct {
	t        testing.TB
	response *http.Response
	lines    *bufio.Reader
}

// watch starts a watch and returns when its headers have come.
func (a *api) watch(path string) *stream {
	a.t.Helper()
	response, err := a.send(a.t.Context(), http.MethodGet, path, "")
	require.NoError(a.t, err)
	a.t.Cleanup(func() { response.Body.Close() })
	s := &stream{t: a.t, response: response, lines: bufio.NewReader(response.Body)}
	require.Equal(a.t, http.StatusOK, response.StatusCode, path)
	require.Equal(a.t, "application/json", response.Header.Get("Content-Type"))
	return s
}

// next blocks for one event; at the end of the stream it returns why.
func (s *stream) next() (event, error) {
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		require.False(s.t, err == io.EOF && len(line) > 0, "cut in the middle: %s", line)
		return event{}, err
	}
	var e event
	require.NoError(s.t, json.Unmarshal(line, &e), string(line))
	return e, nil
}

// want blocks for events and compares them with their short form.
func (s *stream) want(events ...string) {
	s.t.Helper()
	for _, want := range events {
		got, err := s.next()
		require.NoError(s.t, err, want)
		require.Equal(s.t, want, got.short())
	}
}

// rest reads to the end, which must be a clean one, and returns the events.
func (s *stream) rest() []event {
	s.t.Helper()
	var events []event
	for {
		e, err := s.next()
		if err == io.EOF {
			return events
		}
		require.NoError(s.t, err)
		events = append(events, e)
	}
}

func recorded(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(bytes.TrimSpace(data))
}

// remoteAPI is a server in another process.
type remoteAPI struct {
	t   testing.TB
	url string
}

// create makes a config map and returns its identity and version.
func (a *remoteAPI) create(body string) string {
	a.t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	client := http.Client{Transport: transport}
	response, err := client.Post(a.url+configMaps, "application/json", strings.NewReader(body))
	require.NoError(a.t, err)
	defer response.Body.Close()
	var o object
	require.NoError(a.t, json.NewDecoder(response.Body).Decode(&o))
	require.Equal(a.t, http.StatusCreated, response.StatusCode)
	return o.Metadata.UID + " " + o.Metadata.ResourceVersion
}

// group runs f beside the test, which must wait for it itself.
func group(t testing.TB, f func()) {
	t.Helper()
	var running sync.WaitGroup
	running.Go(f)
	t.Cleanup(running.Wait)
}

// keysInOrder returns the keys of an object, and of the object under "metadata".
func keysInOrder(t testing.TB, s string) []string {
	t.Helper()
	var keys []string
	d := json.NewDecoder(strings.NewReader(s))
	_, err := d.Token()
	require.NoError(t, err)
	for d.More() {
		key, err := d.Token()
		require.NoError(t, err)
		keys = append(keys, key.(string))
		var value json.RawMessage
		require.NoError(t, d.Decode(&value))
		if key == "metadata" {
			for _, k := range keysInOrder(t, string(value)) {
				keys = append(keys, "metadata."+k)
			}
		}
	}
	return keys
}

func unmarshal(t testing.TB, body string, v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), v), body)
}
