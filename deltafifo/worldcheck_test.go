package deltafifo_test

import (
	"strconv"

	"github.com/google/go-cmp/cmp"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/deltafifo"
)

// check holds the batch's claims against the server's history.
func (w *world) check(b deltafifo.Batch[*pod], current bool) {
	if !current || int(b.Epoch) != w.server.timeline || w.restored {
		w.seen = nil
		return
	}
	if w.seen == nil {
		w.seen = map[listwatch.Key]string{}
		for _, h := range w.store.heads() {
			w.seen[h.Key] = h.ResourceVersion
		}
		w.since = w.server.clock
	}
	version, _ := strconv.Atoi(b.Version)
	if version == 0 || version < w.since || w.lossy || w.refusing {
		return
	}
	then := w.server.at(version)
	for _, name := range names {
		want, exists := then[name]
		held := w.store.headOf(name)
		ok := held != listwatch.Head{}
		at, _ := strconv.Atoi(held.ResourceVersion)
		gone, _ := strconv.Atoi(w.seen[key(name)])
		same := ok == exists && (!ok || at == want.version)
		if !same && !(at > version || !ok && gone > version) {
			w.fault("version %d is not in the store: %s held %+v, was %+v", version, name, held, want)
		}
		if !same && b.Exact {
			w.fault("not exact at %d: %s held %+v, was %+v", version, name, held, want)
		}
	}
}

// changed checks each write that has an effect: within a timeline no key goes back.
func (w *world) changed(d *deltafifo.Delta[*pod]) {
	if w.seen == nil {
		return
	}
	before, known := w.seen[d.Head.Key]
	later := listwatch.Newer(d.Head.ResourceVersion, before) || d.Type == deltafifo.Deleted && d.Head.ResourceVersion == before
	if known && !d.Force && !later && before != "" {
		w.fault("%s went back from %s to %s", d.Head.Key, before, d.Head.ResourceVersion)
	}
	w.seen[d.Head.Key] = d.Head.ResourceVersion
}

// differences returns what the store and the server do not agree on, by name.
func (w *world) differences() map[string]string {
	differ := map[string]string{}
	for _, name := range names {
		var want listwatch.Head
		if s, ok := w.server.live[name]; ok {
			want = headOf(s.pod(name))
		}
		if got := w.store.headOf(name); want != got {
			differ[name] = cmp.Diff(want, got)
		}
	}
	return differ
}
