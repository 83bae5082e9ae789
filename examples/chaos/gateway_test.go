package chaos_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// readerHeader is the header that tells whose request it is.
const readerHeader = "X-Reader"

// gateway passes requests on to the API server, and lies, refuses and mutilates.
type gateway struct {
	upstream atomic.Pointer[string]
	client   *http.Client
	chance   *chance
	bad      atomic.Int64 // percent of the requests that fail; a tenth of it for events
	lossy    bool         // events may be withheld

	mu sync.Mutex // guards all below
	// withheld counts the events that a reader was not shown, or could not have read.
	withheld map[string]int
	// done counts what was done, by its name.
	done map[string]int
	// stale holds an older answer to a list of each path and query.
	stale map[string][]byte
}

func newGateway(c *chance, lossy bool) *gateway {
	return &gateway{
		client: &http.Client{Transport: &http.Transport{}}, chance: c, lossy: lossy,
		withheld: make(map[string]int), done: make(map[string]int), stale: make(map[string][]byte),
	}
}

func (g *gateway) count(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done[what]++
}

func (g *gateway) withhold(reader, what string) {
	g.count(what)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.withheld[reader]++
}

func (g *gateway) withheldFrom(reader string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.withheld[reader]
}

func status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`, message, reason, code)
}

// refusal is an answer in the place of the right one.
type refusal struct {
	code        int
	contentType string
	header      string // one "name: value"
	body        string
}

var refusals = []refusal{
	{401, "application/json", "", status(401, "Unauthorized", "Unauthorized")},
	{403, "application/json", "", status(403, "Forbidden", "no")},
	{404, "text/plain", "", "404 page not found\n"},
	{410, "application/json", "", status(410, "Expired", "too old")},
	{429, "application/json", "Retry-After: 1", status(429, "TooManyRequests", "later")},
	{429, "text/plain", "", "later"},
	{500, "text/html", "", "<html>oops</html>"},
	{500, "application/json", "", status(500, "InternalError", "oops")},
	{503, "text/plain", "Retry-After: 0", "nobody there"},
	{504, "application/json", "", status(504, "Timeout", "took too long")},
	{502, "", "", ""},
	{200, "text/html", "", "<html>log in</html>"},
	{200, "application/vnd.kubernetes.protobuf", "", "k8s\x00"},
	{200, "application/json", "", ""},
	{200, "application/json", "", "{"},
	{200, "application/json", "", status(200, "", "nothing")},
	{200, "application/json", "", `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"99999999"},"rows":[]}`},
	{200, "application/json", "", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"99999999"},"items":[]}`},
	{200, "application/json", "Content-Encoding: br", "??"},
	{204, "", "", ""},
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watch := r.URL.Query().Get("watch") == "true"
	if g.chance.hit(float64(g.bad.Load())) {
		if g.chance.n(8) == 0 {
			g.count("hung request")
			_ = timing.Sleep(r.Context(), timing.Or(nil), 5*time.Second)
			panic(http.ErrAbortHandler)
		}
		if g.chance.n(2) == 0 {
			a := refusals[g.chance.n(len(refusals))]
			g.count(fmt.Sprint("answered ", a.code))
			name, value, _ := strings.Cut(a.header, ": ")
			if name != "" {
				w.Header().Set(name, value)
			}
			w.Header().Set("Content-Type", a.contentType)
			w.WriteHeader(a.code)
			_, _ = io.WriteString(w, a.body)
			return
		}
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, *g.upstream.Load()+r.URL.RequestURI(), nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Accept", r.Header.Get("Accept"))
	request.Header.Set("Accept-Encoding", "identity")
	response, err := g.client.Do(request)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode != http.StatusOK:
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	case watch:
		g.watch(w, r, response.Body)
	default:
		g.list(w, r, response.Body)
	}
}

// list passes a list on, an older one where the client may not be answered so, or a part.
func (g *gateway) list(w http.ResponseWriter, r *http.Request, from io.Reader) {
	body, err := io.ReadAll(from)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	bad := float64(g.bad.Load())
	query := r.URL.Query()
	// Only where the client said what it knows: twice in a row at the latest list it would
	// prove a restored server.
	if query.Get("resourceVersionMatch") == "NotOlderThan" && query.Get("continue") == "" {
		id := r.URL.Path + "?" + query.Get("limit")
		g.mu.Lock()
		old := g.stale[id]
		if old == nil || g.done["stale list"]%3 == 0 {
			g.stale[id] = body
		}
		g.mu.Unlock()
		if *staleFlag && old != nil && g.chance.hit(bad/4) {
			g.count("stale list")
			body = old
		}
	}
	if !g.chance.hit(bad) {
		_, _ = w.Write(body)
		return
	}
	at := g.chance.n(len(body))
	_, _ = w.Write(body[:at])
	switch g.chance.n(4) {
	case 0:
		g.count("list cut")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case 1:
		g.count("list ends early")
	case 2:
		g.count("list hangs")
		_ = http.NewResponseController(w).Flush()
		_ = timing.Sleep(r.Context(), timing.Or(nil), 5*time.Second)
		panic(http.ErrAbortHandler)
	default:
		g.count("list pauses")
		_ = http.NewResponseController(w).Flush()
		_ = timing.Sleep(r.Context(), timing.Or(nil), time.Duration(g.chance.n(100))*time.Millisecond)
		_, _ = w.Write(body[at:])
	}
}

// watch passes events on, one line each.
func (g *gateway) watch(w http.ResponseWriter, r *http.Request, from io.Reader) {
	control := http.NewResponseController(w)
	to := io.Writer(w)
	flush := control.Flush
	bad := float64(g.bad.Load())
	if g.chance.hit(bad / 8) {
		g.count("watch gzip")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		to, flush = z, func() error { _ = z.Flush(); return control.Flush() }
	}
	_ = flush()
	s := &mangler{g: g, reader: r.Header.Get(readerHeader), noBookmarks: g.chance.hit(bad)}
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if err == io.EOF && len(line) == 0 {
				return
			}
			panic(http.ErrAbortHandler)
		}
		out, end := s.line(line)
		if _, err := to.Write(out); err != nil {
			return
		}
		if lines.Buffered() == 0 || end != goesOn {
			_ = flush()
		}
		switch end {
		case ends:
			return
		case breaks:
			panic(http.ErrAbortHandler)
		case hangs:
			_ = timing.Sleep(r.Context(), timing.Or(nil), 5*time.Second)
			return
		}
	}
}

type ending int

const (
	goesOn ending = iota
	ends
	breaks
	hangs
)

// mangler spoils one watch.
type mangler struct {
	g           *gateway
	reader      string
	noBookmarks bool
	past        [][]byte
}

// line returns what is sent in the place of a line, and what follows.
func (s *mangler) line(line []byte) ([]byte, ending) {
	g := s.g
	if bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) && s.noBookmarks && g.bad.Load() > 0 {
		g.count("bookmark dropped")
		return nil, goesOn
	}
	s.past = append(s.past, line)
	if len(s.past) > 50 {
		s.past = s.past[1:]
	}
	if !g.chance.hit(float64(g.bad.Load()) / 10) {
		return line, goesOn
	}
	object := !bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) && !bytes.HasPrefix(line, []byte(`{"type":"ERROR"`))
	failures := []string{status(410, "Expired", "too old"), status(500, "InternalError", "etcd"), status(429, "TooManyRequests", "later"), `{}`, `"x"`}
	switch n := g.chance.n(12); {
	case n == 0:
		g.count("event twice")
		return bytes.Repeat(line, 2), goesOn
	case n <= 3:
		g.count("older event")
		older := s.past[g.chance.n(len(s.past))]
		if g.chance.n(2) == 0 {
			return append(bytes.Clone(line), older...), goesOn
		}
		return append(bytes.Clone(older), line...), goesOn
	case n == 4:
		g.count("ERROR event")
		return append(bytes.Clone(line), `{"type":"ERROR","object":`+failures[g.chance.n(len(failures))]+"}\n"...), ends
	case n == 5:
		g.count("watch ends early")
		return line[:g.chance.n(len(line))], ends
	case n == 6:
		g.count("watch cut")
		return line[:g.chance.n(len(line))], breaks
	case n == 7:
		g.count("watch hangs")
		return line[:g.chance.n(len(line))], hangs
	case n == 8:
		g.count("watch ends")
		return line, ends
	case !object || !g.lossy:
		return line, goesOn
	case n == 9:
		g.withhold(s.reader, "event withheld")
		return nil, goesOn
	case n == 10:
		g.withhold(s.reader, "event of no type")
		return bytes.Replace(line, []byte(`{"type":"`), []byte(`{"type":"X`), 1), goesOn
	}
	g.withhold(s.reader, "event of another kind")
	return bytes.Replace(line, []byte(`"kind":"`), []byte(`"kind":"X`), 1), goesOn
}

// pause waits, or until ctx is done.
func pause(ctx context.Context, d time.Duration) { _ = timing.Sleep(ctx, timing.Or(nil), d) }
