package chaos_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/examples/apiserver"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/crd"
	"github.com/seed3bce33ad/listwatch/fakes"
)

const (
	configMapPath = "/api/v1"
	widgetPath    = "/apis/wire.example.com/v1"
)

var namespaces = []string{"default", "other"}

// world is an API server that restarts, a gateway that lies, and two bad networks to it.
type world struct {
	t        *testing.T
	chance   *chance
	dir      string
	server   *apiserver.Server
	gateway  *gateway
	plain    *httptest.Server // HTTP/1.1
	secure   *httptest.Server // HTTP/2 over TLS
	networks []*network
	// writer goes to the server without a detour, and keeps no connection that could be cut.
	writer  *http.Client
	writers sync.WaitGroup
	writes  sync.Map // what was done, for the log
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, chance: newChance(seed, 1), dir: t.TempDir()}
	w.writer = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w.gateway = newGateway(newChance(seed, 2), seed%2 == 0)
	w.start()
	w.plain, w.secure = httptest.NewUnstartedServer(w.gateway), httptest.NewUnstartedServer(w.gateway)
	for _, s := range []*httptest.Server{w.plain, w.secure} {
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that were cut
	}
	w.plain.Start()
	w.secure.EnableHTTP2 = true
	w.secure.StartTLS()
	for i, s := range []*httptest.Server{w.plain, w.secure} {
		w.networks = append(w.networks, newNetwork(t, s.Listener.Addr().String(), newChance(seed, uint64(3+i))))
	}
	return w
}

func (w *world) start() {
	w.t.Helper()
	server, err := apiserver.Start(w.t.Context(), apiserver.Options{
		Definitions: []*crd.Definition{crd.Widgets()},
		Dir:         w.dir, Namespaces: namespaces, BookmarkEvery: 100 * time.Millisecond, FutureWait: 200 * time.Millisecond,
	})
	require.NoError(w.t, err)
	url := server.URL()
	w.server = server
	w.gateway.upstream.Store(&url)
}

func (w *world) close() {
	for _, n := range w.networks {
		n.Close()
	}
	for _, s := range []*httptest.Server{w.plain, w.secure} {
		s.CloseClientConnections()
		s.Close()
	}
	w.gateway.client.CloseIdleConnections()
	require.NoError(w.t, w.server.Close())
}

// address returns where a reader finds a path, and how it must speak there.
func (w *world) address(secure bool, path string) (string, *tls.Config) {
	if !secure {
		return "http://" + w.networks[0].front.Addr().String() + path, nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(w.secure.Certificate())
	return "https://" + w.networks[1].front.Addr().String() + path, &tls.Config{RootCAs: pool, ServerName: "example.com"}
}

// storm lets faults loose, and does something dreadful every now and then.
func (w *world) storm(ctx context.Context) {
	for ctx.Err() == nil {
		level := int64([]int{0, 10, 30, 60}[w.chance.n(4)])
		w.gateway.bad.Store(level)
		for _, n := range w.networks {
			if w.chance.hit(float64(level)) {
				w.gateway.count("network fault")
				n.suffer(w.t)
			}
		}
		switch w.chance.n(10) {
		case 0, 1:
			w.gateway.count("connections cut at the server")
			w.server.CutConnections()
		case 2, 3:
			w.gateway.count("connections cut")
			require.NoError(w.t, w.networks[w.chance.n(2)].Inject(fakes.Fault{Kind: fakes.FaultReset}))
		case 4, 5:
			w.gateway.count("compacted")
			require.NoError(w.t, w.server.Compact(w.t.Context()))
		case 6:
			w.gateway.count("server restarted")
			require.NoError(w.t, w.server.Close())
			pause(ctx, time.Duration(w.chance.n(200))*time.Millisecond)
			w.start()
		case 7:
			w.gateway.count("connections refused")
			f := fakes.Fault{Kind: fakes.FaultRefuse, For: time.Duration(1+w.chance.n(500)) * time.Millisecond}
			require.NoError(w.t, w.networks[w.chance.n(2)].Inject(f))
		}
		pause(ctx, time.Duration(100+w.chance.n(1000))*time.Millisecond)
	}
	w.calm()
}

// calm ends all faults.
func (w *world) calm() {
	w.gateway.bad.Store(0)
	for _, n := range w.networks {
		n.Heal()
	}
}

// churn writes from several goroutines until ctx is done; wait for w.writers.
func (w *world) churn(ctx context.Context, seed uint64) {
	for i := range uint64(3) {
		c := newChance(seed, 10+i)
		w.writers.Go(func() {
			for ctx.Err() == nil {
				if w.write(c) != nil {
					pause(ctx, 20*time.Millisecond) // the server is being restarted
				}
				pause(ctx, time.Duration(c.n(12))*time.Millisecond)
			}
		})
	}
}

// body returns a random object.
func body(c *chance, name, version string) map[string]any {
	meta := map[string]any{"name": name, "labels": map[string]any{"group": fmt.Sprint("g", c.n(4))}}
	if version != "" {
		meta["resourceVersion"] = version
	}
	text := fmt.Sprint("value ", c.n(1000))
	if c.n(20) == 0 {
		text += string(bytes.Repeat([]byte("long \"text\" \\ é "), c.n(2000)))
	}
	return map[string]any{
		"metadata": meta, "data": map[string]string{"text": text},
		"spec": map[string]any{"size": 1 + c.n(100), "note": text},
	}
}

// write does one random thing. What the server refuses is as good as what it does.
func (w *world) write(c *chance) error {
	path, widget := configMapPath, c.n(2) == 0
	if widget {
		path = widgetPath
	}
	path += "/namespaces/" + namespaces[c.n(2)] + map[bool]string{false: "/configmaps", true: "/widgets"}[widget]
	name := fmt.Sprintf("o-%02d", c.n(40))
	send := func(method, path string, body map[string]any) (map[string]any, error) {
		if body != nil {
			body["apiVersion"], body["kind"] = "v1", "ConfigMap"
			if widget {
				body["apiVersion"], body["kind"] = "wire.example.com/v1", "Widget"
				delete(body, "data")
			} else {
				delete(body, "spec")
			}
		}
		return w.send(method, path, body)
	}
	switch n := c.n(10); {
	case n < 4:
		_, err := send(http.MethodPost, path, body(c, name, ""))
		return err
	case n < 7:
		held, err := send(http.MethodGet, path+"/"+name, nil)
		if err != nil {
			return err
		}
		meta, _ := held["metadata"].(map[string]any)
		version, _ := meta["resourceVersion"].(string)
		if version == "" {
			return nil // it is not there
		}
		_, err = send(http.MethodPut, path+"/"+name, body(c, name, version))
		return err
	case n < 9:
		_, err := send(http.MethodDelete, path+"/"+name, nil)
		return err
	}
	_, err := send(http.MethodDelete, path+"/"+name, nil)
	if err == nil { // another identity at once
		_, err = send(http.MethodPost, path, body(c, name, ""))
	}
	return err
}

func (w *world) send(method, path string, body map[string]any) (map[string]any, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(w.t.Context(), method, *w.gateway.upstream.Load()+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.writer.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusUnprocessableEntity || response.StatusCode == http.StatusBadRequest {
		w.t.Errorf("%s %s: %s", method, path, text)
	}
	count, _ := w.writes.LoadOrStore(fmt.Sprint(method, " ", response.StatusCode), new(counter))
	count.(*counter).Add(1)
	var answer map[string]any
	return answer, json.Unmarshal(text, &answer)
}

// truth returns what the server holds.
func truth[T listwatch.Object](w *world, path string) map[listwatch.Key]T {
	w.t.Helper()
	response, err := w.writer.Get(*w.gateway.upstream.Load() + path)
	require.NoError(w.t, err)
	defer response.Body.Close()
	var list struct {
		Items []T `json:"items"`
	}
	require.NoError(w.t, json.NewDecoder(response.Body).Decode(&list))
	held := make(map[listwatch.Key]T)
	for _, o := range list.Items {
		held[listwatch.KeyOf(o)] = o
	}
	return held
}
