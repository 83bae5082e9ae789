package rest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// cluster serves the watches of namespaces, each fed by a channel.
type cluster struct {
	*script
	feeds  map[string]chan string
	open   chan string
	closed chan string
}

func newCluster(t *testing.T, namespaces ...string) *cluster {
	c := &cluster{feeds: make(map[string]chan string), open: make(chan string, 100), closed: make(chan string, 100)}
	for _, ns := range namespaces {
		c.feeds[ns] = make(chan string)
	}
	c.script = newScript(t)
	c.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.requests = append(c.requests, r)
		c.mu.Unlock()
		ns := strings.Split(r.URL.Path, "/")[4]
		body("")(w, r)
		w.(http.Flusher).Flush()
		c.open <- ns
		defer func() { c.closed <- ns }()
		for {
			select {
			case text := <-c.feeds[ns]:
				if text == "" {
					return
				}
				_, _ = io.WriteString(w, namespaced(ns, text))
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	return c
}

// versions are those asked for in the latest watches.
func (c *cluster) versions() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	versions := make(map[string]string)
	for _, r := range c.requests {
		versions[strings.Split(r.URL.Path, "/")[4]] = r.URL.Query().Get("resourceVersion")
	}
	return versions
}

// wait returns when n streams have ended on the server's side: those feed on nothing more.
func (c *cluster) wait(n int) {
	for range n {
		<-c.closed
	}
}

// play watches and feeds "namespace: event" one by one, each after the one before was
// delivered, then ends the stream of the last namespace.
func (c *cluster) play(t *testing.T, src *rest.Source[*Pod], o listwatch.WatchOptions, steps ...string) []string {
	t.Helper()
	r := &record[*Pod]{}
	next := make(chan struct{}, 1)
	fed := make(chan struct{})
	group.Go(func() {
		defer close(fed)
		for range c.feeds {
			<-c.open
		}
		var last string
		for _, step := range steps {
			ns, text, _ := strings.Cut(step, ": ")
			last = ns
			c.feeds[ns] <- text
			<-next
		}
		c.feeds[last] <- ""
	})
	o.Refused = func(listwatch.Head, error) error {
		r.events = append(r.events, "refused")
		next <- struct{}{}
		return nil
	}
	err := src.Watch(t.Context(), o, func(events ...listwatch.Event[*Pod]) error {
		_ = r.watch(events...)
		next <- struct{}{}
		return nil
	})
	<-fed
	c.wait(len(c.feeds))
	require.NoError(t, err)
	return r.events
}
