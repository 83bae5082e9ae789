package rest_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/deltafifo"
	"github.com/seed3bce33ad/listwatch/internal/timing"
	"github.com/seed3bce33ad/listwatch/reflector"
	"github.com/seed3bce33ad/listwatch/reflector/rest"
)

// holding is a proxy that holds the header of a watch back until there is an event.
type holding struct {
	first time.Time // of the events

	mu       sync.Mutex
	requests []string
}

func (h *holding) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.requests = append(h.requests, r.URL.Query().Get("watch")+"@"+r.URL.Query().Get("resourceVersion"))
	h.mu.Unlock()
	var body io.Reader = strings.NewReader(podList("10", "", pod("a", "1")))
	if r.URL.Query().Has("watch") {
		if err := timing.Sleep(r.Context(), timing.Or(nil), time.Until(h.first)); err != nil {
			return nil, err
		}
		body = io.MultiReader(strings.NewReader(event("MODIFIED", "a", "11")), open{r.Context().Done()})
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body)}, nil
}

// Scenario 28. A client that gives up waiting for the header of a watch has not failed: the watch
// is asked for again from the same version, nothing is listed and nothing reported.
func TestHeaderHeldBackIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy := &holding{first: time.Now().Add(3500 * time.Millisecond)}
		src, err := rest.New[*Pod]("http://server/api/v1/pods", rest.Options{
			Client: &http.Client{Transport: proxy, Timeout: time.Second},
		})
		require.NoError(t, err)
		var heard []error
		var log strings.Builder
		queue := deltafifo.New[*Pod](nil, deltafifo.Options{})
		r := reflector.New(src, queue, reflector.Options{
			FirstList: reflector.FirstPages, OnError: func(err error) { heard = append(heard, err) },
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3900*time.Millisecond)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.Equal(t, []string{"@", "true@10", "true@10", "true@10", "true@10"}, proxy.requests)
		require.Equal(t, "11", r.Health().Position)
		require.Empty(t, heard)
		require.Empty(t, log.String())
	})
}
