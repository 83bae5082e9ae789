package informer_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed3bce33ad/listwatch/informer"
)

var keepPictures = flag.String("debug.pictures", "", "folder in which the test of the debug page in a browser leaves pictures")

// host is what the browser believes to ask. It resolves nowhere: the browser has the test for a proxy.
const host = "debug.invalid"

// browser is a headless Chromium whose only way out is a proxy of the test.
type browser struct {
	t      *testing.T
	binary string
	server *httptest.Server

	mu        sync.Mutex
	elsewhere []string // what was asked of other hosts; guarded by mu
}

// newBrowser returns a browser that sees h. Without a Chromium it skips the test: no other test
// of this repository may skip itself.
func newBrowser(t *testing.T, h http.Handler) *browser {
	t.Helper()
	b := &browser{t: t}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			b.binary = path
			break
		}
	}
	if b.binary == "" {
		t.Skip("no chromium in PATH: the debug page has not been looked at in a browser")
	}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host == host && r.URL.Path == "/debug":
			h.ServeHTTP(w, r)
			return
		case r.Host == host && r.URL.Path == "/favicon.ico", errand(r.URL.Hostname()):
		default:
			b.mu.Lock()
			b.elsewhere = append(b.elsewhere, r.Method+" "+r.URL.String())
			b.mu.Unlock()
		}
		http.Error(w, "not here", http.StatusNotFound)
	}))
	t.Cleanup(b.server.Close)
	return b
}

// errand tells the hosts that Chromium asks for its own purposes, whatever it shows.
func errand(host string) bool {
	return strings.HasSuffix(host, ".google.com") || strings.HasSuffix(host, ".googleapis.com")
}

// look renders a page, and returns its DOM, and what the browser had to complain of.
func (b *browser) look(picture string, query url.Values, flags ...string) (dom, complaints string) {
	b.t.Helper()
	folder := *keepPictures
	if folder == "" {
		folder = b.t.TempDir()
	}
	picture = filepath.Join(folder, picture+".png")
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--mute-audio",
		"--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr", "--user-data-dir=" + b.t.TempDir(),
		"--proxy-server=" + strings.TrimPrefix(b.server.URL, "http://"), "--proxy-bypass-list=<-loopback>",
		"--dump-dom", "--screenshot=" + picture,
	}, flags...)
	target := url.URL{Scheme: "http", Host: host, Path: "/debug", RawQuery: query.Encode()}
	var errors strings.Builder
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, b.binary, append(args, target.String())...)
	c.Stderr = &errors
	out, err := c.Output()
	require.NoError(b.t, err, errors.String())
	png, err := os.ReadFile(picture)
	require.NoError(b.t, err)
	require.True(b.t, strings.HasPrefix(string(png), "\x89PNG"))
	for line := range strings.Lines(errors.String()) {
		if strings.Contains(line, "CONSOLE") {
			complaints += line
		}
	}
	return string(out), complaints
}

// TestDebugPageInABrowser has Chromium render the pages, and finds in the DOM what is to be seen:
// no name has become a script or a request, and the style is applied.
func TestDebugPageInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, shown(t, informer.DebugOptions{Objects: true}))
	pages := []struct {
		name  string
		query url.Values
		flags []string
		want  []string
	}{
		{"all", nil, []string{"--window-size=1280,800"}, []string{
			`<tr class="informer" data-name="pods">`, `<span class="good">Watching</span>`, `<span class="bad">`,
			`<tr class="queue" data-name="pods">`, `ns/web&nbsp;<span class="times">×1</span>`, `<h2>Handlers</h2>`,
		}},
		{"key", url.Values{"informer": {"pods"}, "namespace": {"ns"}, "name": {hostile}}, []string{"--window-size=500,1600", "--force-dark-mode"}, []string{
			`<li id="store" class="good-line">`, `<li class="work off-line">`, `<pre id="object">`, `secret-3`,
		}},
		{"informer", url.Values{"informer": {"pods"}}, []string{"--window-size=500,1400"}, []string{
			`<title>pods</title>`, `<tr class="refused">`, `>ns/broken</a>`, `object too large`, `<ul class="keys" id="keys">`,
		}},
		{"queue", url.Values{"queue": {"pods"}}, []string{"--window-size=1280,800"}, []string{
			`<title>Queue pods</title>`, `<span class="bad">Delayed</span>`, `<tr class="item">`,
		}},
		{"fault", url.Values{"informer": {hostile + "?"}}, []string{"--window-size=500,400"}, []string{`<p class="fault" id="fault">`}},
	}
	if *keepPictures == "" {
		pages = pages[:2] // a browser takes a second to start
	}
	for _, page := range pages {
		dom, complaints := b.look(page.name, page.query, page.flags...)
		for _, want := range page.want {
			require.Contains(t, dom, want, page.name)
		}
		require.Contains(t, dom, "&lt;script&gt;", page.name)
		require.NotContains(t, dom, "<script", page.name)
		require.NotContains(t, dom, "<img", page.name)
		require.NotContains(t, dom, "<title>owned", page.name)
		require.Empty(t, complaints, "such as a refused style")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.elsewhere)
}
