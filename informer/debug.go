package informer

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// DebugOptions say what [DebugHandler] shows. With the zero value the page is empty.
type DebugOptions struct {
	// Factory is one whose informers are shown, those that it has at the time of the request.
	// Defaults to none.
	Factory *Factory
	// Informers are shown after those of the factory. Informers of one name are all listed, but
	// only the first can be looked into. Defaults to none.
	Informers []Inspected
	// Queues are the work queues. Defaults to none.
	Queues []Queue
	// Objects lets the page of a key show the object as JSON and its values in the indexes.
	// Whoever can read the page then reads what the informers read: of Secrets, the secrets.
	// Defaults to false.
	Objects bool
	// Limit bounds the keys that are listed of each informer, and of each state of a queue.
	// Defaults to 100.
	Limit int
	// Clock tells the time for what is shown as "ago". Defaults to the real clock.
	Clock clock.Clock
}

func (o DebugOptions) withDefaults() DebugOptions {
	if o.Limit == 0 {
		o.Limit = 100
	}
	o.Clock = timing.Or(o.Clock)
	return o
}

func (o DebugOptions) validate() error {
	var faults []error
	if o.Limit < 0 {
		faults = append(faults, fmt.Errorf("negative Limit %d", o.Limit))
	}
	for _, i := range o.Informers {
		if i == nil {
			faults = append(faults, errors.New("an informer that is nil"))
		}
	}
	for _, q := range o.Queues {
		if q == nil {
			faults = append(faults, errors.New("a queue that is nil"))
		}
	}
	return errors.Join(faults...)
}

// DebugHandler returns a page on informers and queues, to be mounted at any path:
//
//	mux.Handle("GET /debug/informers", informer.DebugHandler(informer.DebugOptions{
//		Factory: &factory, Queues: []informer.Queue{queue},
//	}))
//
// It answers GET and HEAD, changes nothing, and costs nothing between two requests. For people
// it is HTML without scripts and without anything from elsewhere; with ?format=json, or for whoever
// accepts JSON and not HTML, it is JSON. Queries lead further in:
//
//	?informer=pods                    one informer: handlers, refused keys, some keys
//	?informer=pods&key=default/web    one key along the whole line, see [Explanation]
//	?queue=pods                       one queue: some keys of each state
//
// A key that does not read back from its string is given as namespace= and name=; one without an
// informer is a bad request. Names and error
// messages are shown, objects only with DebugOptions.Objects; who may see that is for the one who mounts
// the handler to decide. It is safe for concurrent use. Options that make no sense panic.
func DebugHandler(o DebugOptions) http.Handler {
	if err := o.validate(); err != nil {
		panic(fmt.Sprintf("informer: debug handler: %v", err))
	}
	page := template.Must(template.New("debug").Funcs(debugFuncs()).Parse(debugPage))
	hash := sha256.Sum256([]byte(debugStyle))
	return &debugHandler{o: o.withDefaults(), page: page, policy: "default-src 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}
}

//go:embed debug.html
var debugPage string

//go:embed debug.css
var debugStyle string

type debugHandler struct {
	o      DebugOptions
	page   *template.Template
	policy string // the content security policy: this style and nothing else
}

// ServeHTTP answers a request.
func (h *debugHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", h.policy)
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	view, status := h.view(r.URL.Query())
	var body bytes.Buffer
	var err error
	if wantsJSON(r) {
		header.Set("Content-Type", "application/json")
		err = json.NewEncoder(&body).Encode(view)
	} else {
		header.Set("Content-Type", "text/html; charset=utf-8")
		err = h.page.Execute(&body, view)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = body.WriteTo(w) // whoever asked has gone
}

func wantsJSON(r *http.Request) bool {
	if format := r.URL.Query().Get("format"); format != "" {
		return format == "json"
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// view returns what the query asks for.
func (h *debugHandler) view(query url.Values) (v *debugView, status int) {
	v = &debugView{Time: h.o.Clock.Now(), o: h.o}
	name, text := query.Get("informer"), query.Get("key")
	key := listwatch.Key{Namespace: query.Get("namespace"), Name: query.Get("name")}
	var err error
	switch {
	case query.Has("queue"):
		err = v.oneQueue(query.Get("queue"))
	case query.Has("informer") && text != "":
		if key, err = listwatch.ParseKey(text); err == nil {
			err = v.oneKey(name, key)
		}
	case query.Has("informer") && key.Name != "":
		err = v.oneKey(name, key)
	case query.Has("informer"):
		err = v.oneInformer(name)
	case text != "" || key != (listwatch.Key{}):
		err = fmt.Errorf("%w: of which informer", listwatch.ErrBadKey)
	default:
		v.all()
	}
	switch {
	case errors.Is(err, listwatch.ErrBadKey):
		status = http.StatusBadRequest
	case err != nil:
		status = http.StatusNotFound
	default:
		return v, http.StatusOK
	}
	v.Fault = err.Error()
	return v, status
}

// informers returns everything to be shown.
func (o *DebugOptions) informers() []Inspected {
	var all []Inspected
	if o.Factory != nil {
		all = o.Factory.Informers()
	}
	return append(all, o.Informers...)
}
