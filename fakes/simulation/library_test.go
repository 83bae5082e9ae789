package simulation_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
	"github.com/seed3bce33ad/listwatch/fakes/simulation"
)

// keys is how many keys are written, classes how many kinds of value.
const (
	keys    = 8
	classes = 5
)

// The guarantees by their numbers, as they are told when they are broken.
const (
	converges  = "guarantee 1: convergence"
	noTravel   = "guarantee 2: no time travel"
	cacheFirst = "guarantee 3: cache before handler"
	oneVoice   = "guarantee 4: one voice"
	noLost     = "guarantee 5: no delete is lost"
	identities = "guarantee 6: a new identity is not an update"
	quiet      = "guarantee 7: quiet relist"
	synced     = "guarantee 8: synced means delivered"
	bounded    = "guarantee 9: bounded"
	ownFault   = "guarantee 10: a handler's fault stays its own"
	position   = "guarantee 11: position kept"
	neverStuck = "guarantee 12: never silently frozen"
	nothing    = "guarantee 13: nothing left behind"
	oneWorker  = "guarantee 14: one worker, one due time"
	ownWrites  = "guarantee 15: own writes are seen"
	untrusted  = "guarantee 16: untrusted input is refused"
)

// library is a world of informers of one server, with handlers, indexes, queues and workers.
type library struct {
	*simulation.World
	model   *model
	rand    func() float64
	log     *slog.Logger
	opaque  bool
	compact bool // stores hold encoded objects
	relist  time.Duration
	clients map[string]*client
	names   []string
	// wired is what is between the server and its clients; nil: nothing.
	wired *wired
}

// newLibrary fills a world with what this library consists of.
func newLibrary(w *simulation.World) { fill(w, false) }

// newCompactLibrary is newLibrary with informers that hold their objects encoded.
func newCompactLibrary(w *simulation.World) { fill(w, true) }

func fill(w *simulation.World, compact bool) {
	l := &library{
		compact: compact,
		World:   w, model: newModel(), rand: w.Rand(), clients: make(map[string]*client),
		log: slog.New(slog.DiscardHandler),
	}
	history, _ := strconv.Atoi(w.Choose("history", "10000", "300", "40"))
	l.model.history = history
	over := w.Choose("over", "memory", "memory", "memory", "memory", "memory", "memory", "memory", "memory", "memory", "memory", "http1", "http2")
	l.opaque = w.Choose("versions", "numbers", "numbers", "numbers", "numbers", "numbers", "opaque") == "opaque" && over == "memory"
	l.relist, _ = time.ParseDuration(w.Choose("relist", "1h", "10m", "2m"))
	l.model.server = fakes.New(fakes.StampObject, fakes.Options[*object]{
		History:         history,
		NoInitialEvents: w.Choose("initial", "yes", "no") == "no",
		ExpiredStatus:   w.Choose("expired", "event", "status") == "status",
		FreshWait:       map[string]time.Duration{"0s": 0, "3s": 3 * time.Second}[w.Choose("fresh", "0s", "3s")],
	})
	var kinds []fakes.FaultKind
	for _, k := range fakes.FaultKinds() {
		if k.OfSource() && !(l.opaque && needsOrder(k)) {
			kinds = append(kinds, k)
		}
	}
	w.Target("server", l, kinds...)
	if over != "memory" {
		l.connect(w, over == "http2")
	}
	for n := range 1 + len(w.Choose("informers", "", "", "i", "ii")) {
		l.names = append(l.names, string(rune('a'+n)))
	}
	l.operations()
	w.Cleanup(func() {
		for _, c := range l.clients {
			c.close()
		}
	})
	w.Always("library", l.look)
	w.AtRest("library", l.rest)
	for _, name := range l.names {
		l.open(name, map[string]string{})
	}
}

// needsOrder reports whether a fault can't be told from the truth when versions have no order.
func needsOrder(k fakes.FaultKind) bool {
	return k == fakes.FaultLag || k == fakes.FaultRestore || k == fakes.FaultLateBookmark
}

// Inject makes the world a target of faults.
func (l *library) Inject(f fakes.Fault) error { return l.model.inject(f) }

// Heal ends all faults.
func (l *library) Heal() { l.model.server.Heal() }

// someKey is a key's number.
func someKey(rng *rand.Rand) string { return "k" + strconv.Itoa(rng.IntN(keys)) }

func someValue(rng *rand.Rand) string { return "v" + strconv.Itoa(rng.IntN(classes)) }

func parseKey(word string) (listwatch.Key, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "k"))
	return key(n), err
}

// options reads words of the form name=value; a word alone is a flag.
func options(words []string) map[string]string {
	o := make(map[string]string)
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		o[name] = value
	}
	return o
}

// integer reads a number, 0 when there is none.
func integer(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func duration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

// operations adds what can happen in this world.
func (l *library) operations() {
	l.write("put", 60, func(words []string, k listwatch.Key) { l.model.put(k, words[1]) })
	l.write("delete", 16, func(_ []string, k listwatch.Key) { l.model.delete(k) })
	l.write("recreate", 8, func(words []string, k listwatch.Key) { l.model.recreate(k, words[1]) })
	l.write("touch", 4, func(_ []string, k listwatch.Key) { l.model.touch(k) })
	l.write("burst", 4, func(words []string, k listwatch.Key) {
		for n := range 30 {
			l.model.put(key((integer(k.Name[1:])+n)%keys), words[1])
		}
	})
	l.number("advance", 4, 12, func(n int) { l.model.advance(uint64(n)) })
	l.number("bookmark", 3, 1, func(int) { l.model.server.Bookmark() })
	l.onClient("informer", 3, l.someInformer, l.open)
	l.onClient("handler", 8, l.someHandler, func(name string, o map[string]string) { l.clients[name].listen(o) })
	l.onClient("remove", 3, l.someOf, func(name string, o map[string]string) { l.clients[name].remove(integer(o["n"])) })
	l.onClient("index", 3, l.someIndex, func(name string, o map[string]string) { l.clients[name].index(o["by"]) })
	l.onClient("unindex", 2, l.someOf, func(name string, o map[string]string) { l.clients[name].unindex(integer(o["n"])) })
	l.onClient("reader", 4, l.someReader, func(name string, o map[string]string) {
		l.clients[name].read(integer(o["times"]), duration(o["every"]))
	})
	l.onClient("reached", 4, nil, func(name string, _ map[string]string) { l.clients[name].reached() })
	l.onClient("add", 12, l.someAdd, func(name string, o map[string]string) { l.clients[name].desk.add(o) })
	l.onClient("plan", 14, l.somePlan, func(name string, o map[string]string) { l.clients[name].desk.plan(o) })
	l.onClient("cancel", 3, l.someCancel, func(name string, o map[string]string) { l.clients[name].desk.cancel(o) })
	l.onClient("drain", 1, nil, func(name string, o map[string]string) { l.clients[name].desk.drain() })
}

// write adds an operation of the form "name k3 v2".
func (l *library) write(name string, weight int, do func(words []string, k listwatch.Key)) {
	l.Operate(simulation.Operation{
		Name: name, Weight: weight,
		Make: func(rng *rand.Rand) string { return someKey(rng) + " " + someValue(rng) },
		Do: func(words []string) error {
			if len(words) != 2 {
				return fmt.Errorf("want a key and a value")
			}
			k, err := parseKey(words[0])
			if err == nil {
				do(words, k)
			}
			return err
		},
	})
}

// number adds an operation of the form "name 7".
func (l *library) number(name string, weight, most int, do func(int)) {
	l.Operate(simulation.Operation{
		Name: name, Weight: weight,
		Make: func(rng *rand.Rand) string { return strconv.Itoa(1 + rng.IntN(most)) },
		Do: func(words []string) error {
			n, err := strconv.Atoi(strings.Join(words, " "))
			if err == nil {
				do(n)
			}
			return err
		},
	})
}

// onClient adds an operation of the form "name a option=value …".
func (l *library) onClient(name string, weight int, some func(*rand.Rand) string, do func(string, map[string]string)) {
	l.Operate(simulation.Operation{
		Name: name, Weight: weight,
		Make: func(rng *rand.Rand) string {
			text := l.names[rng.IntN(len(l.names))]
			if some != nil {
				text += " " + some(rng)
			}
			return text
		},
		Do: func(words []string) error {
			if len(words) == 0 || l.clients[words[0]] == nil {
				return nil
			}
			do(words[0], options(words[1:]))
			return nil
		},
	})
}

func pick(rng *rand.Rand, of ...string) string { return of[rng.IntN(len(of))] }

func (l *library) someInformer(rng *rand.Rand) string {
	return fmt.Sprintf("page=%s first=%s view=%s workers=%d resync=%s", pick(rng, "0", "1", "3", "4"),
		pick(rng, "stream", "stream", "pages"), pick(rng, "all", "all", "low"), 1+rng.IntN(4), pick(rng, "0s", "0s", "3m"))
}

func (l *library) someHandler(rng *rand.Rand) string {
	text := fmt.Sprintf("policy=%s backlog=%d", pick(rng, "coalesce", "coalesce", "every"), 1+rng.IntN(12))
	text += pick(rng, "", "", "", " resync=1m", " resync=7s")
	return text + pick(rng, "", "", "", " nap=3ms", " nap=2s", " panic=3", " block=40s", " leave=5", " exit=6", " spawn=4", " write=7")
}

func (l *library) someOf(rng *rand.Rand) string { return fmt.Sprintf("n=%d", rng.IntN(10)) }

func (l *library) someIndex(rng *rand.Rand) string {
	return "by=" + pick(rng, "class", "key", "many", "faulty", "none")
}

func (l *library) someReader(rng *rand.Rand) string {
	return fmt.Sprintf("times=%d every=%s", 1+rng.IntN(20), pick(rng, "0s", "1ms", "700ms"))
}

func (l *library) someAdd(rng *rand.Rand) string {
	text := "key=" + someKey(rng) + pick(rng, "", "", " after=1s", " after=30s", " after=2m", " after=900ms")
	return text + pick(rng, "", "", "", " replace", " priority=2", " priority=-1", " limited")
}

func (l *library) somePlan(rng *rand.Rand) string {
	return "key=" + someKey(rng) + " do=" + pick(rng, "fail", "fail", "panic", "nap", "after", "write", "await", "await", "await-fail", "never", "exit")
}

func (l *library) someCancel(rng *rand.Rand) string { return "key=" + someKey(rng) }
