package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
	"github.com/seed3bce33ad/listwatch/internal/worker"
)

// The slots of what is noted while an object is cut.
const (
	slotKind = iota + 1
	slotNamespace
	slotName
	slotUID
	slotVersion
	slotMark
	slotType
	slotObject
	slotTopKind
)

const (
	sharedJobs = 4  // as many objects are worth a goroutine
	keptJobs   = 64 // more room for them is given back after use
)

// errUndecoded is the fault of an object whose decoding has ended without a result.
var errUndecoded = fmt.Errorf("%w: decoding ended its goroutine", listwatch.ErrDecode)

// marked is the annotation of the bookmark that ends the initial events.
const marked = "k8s.io/initial-events-end"

// The shapes of an object in a list and of an event.
var (
	itemShape = jsonstream.NewShape(
		// Of two kinds the first counts, for it is known before the rest has come.
		jsonstream.Member{Name: "kind", Slot: slotKind, First: true},
		jsonstream.Member{Name: "metadata", In: jsonstream.NewShape(
			jsonstream.Member{Name: "namespace", Slot: slotNamespace},
			jsonstream.Member{Name: "name", Slot: slotName},
			jsonstream.Member{Name: "uid", Slot: slotUID},
			jsonstream.Member{Name: "resourceVersion", Slot: slotVersion},
			jsonstream.Member{Name: "annotations", In: jsonstream.NewShape(
				jsonstream.Member{Name: marked, Slot: slotMark},
			)},
		)},
	)
	eventShape = jsonstream.NewShape(
		jsonstream.Member{Name: "type", Slot: slotType},
		jsonstream.Member{Name: "object", Slot: slotObject, In: itemShape},
		jsonstream.Member{Name: "kind", Slot: slotTopKind},
	)
)

// intake turns JSON into objects, and refuses what cannot be taken.
type intake[T listwatch.Object] struct {
	o       Options
	make    func([]byte) (T, error)
	kinds   kinds
	known   func(listwatch.Head) bool
	refused func(listwatch.Head, error) error

	namespace string // of the last object: most often that of the next one
	jobs      []job[T]
	decoding  worker.Group
}

// job is an event, or an object of a list, on its way to be handed on.
type job[T listwatch.Object] struct {
	event  listwatch.Event[T]
	head   listwatch.Head
	data   []byte // what the object is to be decoded from, lent until the next read; nil: there is none
	failed error
}

// piece is the JSON of one object with what was noted about it.
type piece struct {
	head     listwatch.Head
	kind     string
	data     []byte // lent; nil when too large
	size     int64
	tooLarge bool
	odd      bool   // it is no JSON, which of what is too large nobody else finds out
	bad      string // the member of the head that is not a string; "" when all are
	kindless bool   // it needs no kind of its own
}

// piece reads the head out of v, whose object is data. It decodes nothing else.
func (in *intake[T]) piece(v *jsonstream.Value, data []byte) piece {
	p := piece{data: data, size: int64(len(data)), tooLarge: v.TooLarge, odd: v.Odd}
	if v.TooLarge {
		p.size = v.Size
	}
	text := func(slot int, name, before string) string {
		raw := v.Field(slot)
		if raw == nil {
			return ""
		}
		if len(raw) == len(before)+2 && string(raw[1:len(raw)-1]) == before && raw[0] == '"' {
			return before // the same bytes, so the same string: no other need be made
		}
		s, ok := jsonstream.Text(raw)
		if !ok {
			p.bad = name
		}
		return s
	}
	p.kind = text(slotKind, "kind", in.kinds.want)
	in.namespace = text(slotNamespace, "metadata.namespace", in.namespace)
	p.head.Key.Namespace = in.namespace
	p.head.Key.Name = text(slotName, "metadata.name", "")
	p.head.UID = text(slotUID, "metadata.uid", "")
	p.head.ResourceVersion = text(slotVersion, "metadata.resourceVersion", "")
	return p
}

// take keeps p for collect, and event with it. It does not when the object is known, or was refused
// without ending the call.
func (in *intake[T]) take(p piece, event listwatch.Event[T], ask bool) error {
	if err := in.check(p); err != nil {
		return in.refuse(believed(p.head, p.data, p.tooLarge && !p.odd), err)
	}
	if !ask || in.known == nil || !in.known(p.head) {
		in.jobs = append(in.jobs, job[T]{event: event, head: p.head, data: p.data, failed: errUndecoded})
	}
	return nil
}

// believed is the head of an object that is refused. Of what is no JSON nothing can be believed:
// half of a key is another key. What is too large is believed unlooked at.
func believed(head listwatch.Head, data []byte, unlooked bool) listwatch.Head {
	if unlooked || json.Valid(data) {
		return head
	}
	return listwatch.Head{}
}

// collect decodes what was taken since the last read, and hands it to add in its order.
func (in *intake[T]) collect(add func(listwatch.Event[T])) error {
	in.decodeAll()
	for i := range in.jobs {
		j := &in.jobs[i]
		if j.data != nil && j.failed != nil {
			if err := in.refuse(believed(j.head, j.data, false), j.failed); err != nil {
				return err
			}
			continue
		}
		add(j.event)
	}
	if cap(in.jobs) > keptJobs {
		in.jobs = nil
	}
	clear(in.jobs)
	in.jobs = in.jobs[:0]
	return nil
}

// decodeAll decodes the objects of all jobs: many on two goroutines, which take the next one in turn,
// few on this one alone.
func (in *intake[T]) decodeAll() {
	if len(in.jobs) < sharedJobs {
		for i := range in.jobs {
			in.decode(&in.jobs[i])
		}
		return
	}
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(in.jobs)); i = next.Add(1) - 1 {
			in.decode(&in.jobs[i])
		}
	}
	// What is lent is in use until both have returned, whatever happens.
	defer in.decoding.Wait()
	in.decoding.Go(work)
	work()
}

// decode makes the object of j. A panic of the type's own decoding refuses the object.
func (in *intake[T]) decode(j *job[T]) {
	if j.data == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			j.failed = fmt.Errorf("%w: decoding panicked: %v", listwatch.ErrDecode, v)
		}
	}()
	object, err := in.make(j.data)
	j.event.Object = object
	if err != nil {
		j.failed = fmt.Errorf("%w: %w", listwatch.ErrDecode, err)
	} else if key, version := listwatch.KeyOf(object), object.GetResourceVersion(); key != j.head.Key || version != j.head.ResourceVersion {
		j.failed = fmt.Errorf("%w: %T says that it is %q in version %q, and metadata on the wire %q in version %q"+
			` (a field for it needs the tag json:"metadata")`,
			listwatch.ErrProtocol, object, key, version, j.head.Key, j.head.ResourceVersion)
	} else {
		j.failed = nil
	}
}

// whole decodes the object of an event when it is of the kind that is wanted and has a namespace, a uid
// and all that it must have. It returns false for all else, which is for take to judge. The strings of
// v are compared with those of the object where they stand, so that none is made twice.
func (in *intake[T]) whole(v *jsonstream.Value, data []byte, event *listwatch.Event[T]) (ok bool) {
	uid := v.Field(slotUID)
	if int64(len(data)) > in.o.MaxObjectBytes || in.kinds.want == "" || !stands(v, slotKind, in.kinds.want) || len(uid) <= len(`""`) || uid[0] != '"' {
		return false
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	object, err := in.make(data)
	if err != nil {
		return false
	}
	key, version := listwatch.KeyOf(object), object.GetResourceVersion()
	event.Object, event.ResourceVersion = object, version
	return key.Namespace != "" && key.Name != "" && version != "" &&
		stands(v, slotNamespace, key.Namespace) && stands(v, slotName, key.Name) && stands(v, slotVersion, version)
}

// stands reports whether the field of slot is the string text, written as it is. One with escapes never
// is: they are longer than what they mean.
func stands(v *jsonstream.Value, slot int, text string) bool {
	raw := v.Field(slot)
	return len(raw) == len(text)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == text
}

// check says what is wrong with p as far as that shows without decoding it.
func (in *intake[T]) check(p piece) error {
	switch {
	case p.tooLarge || p.size > in.o.MaxObjectBytes:
		return fmt.Errorf("%w: %d bytes, the limit is %d", listwatch.ErrTooLarge, p.size, in.o.MaxObjectBytes)
	case len(p.data) == 0 || p.data[0] != '{':
		return fmt.Errorf("%w: not an object", listwatch.ErrDecode)
	case p.bad != "":
		return fmt.Errorf("%w: %s is not a string", listwatch.ErrDecode, p.bad)
	}
	if !p.kindless {
		if err := in.kinds.check(p.kind); err != nil {
			return err
		}
	}
	switch {
	case p.head.Key.Name == "":
		return fmt.Errorf("%w: an object without name", listwatch.ErrProtocol)
	case p.head.ResourceVersion == "":
		return fmt.Errorf("%w: an object without version", listwatch.ErrProtocol)
	}
	return nil
}

func (in *intake[T]) refuse(head listwatch.Head, err error) error {
	err = fmt.Errorf("object %q: %w", head.Key, err)
	if in.refused == nil {
		return err
	}
	return in.refused(head, err)
}

// outlet hands on what was read, in batches. An error of its methods, too, means that the
// receiver, or the end of the context, has ended the call; it is kept and is what the call
// returns as it is.
type outlet[E any] struct {
	ctx     context.Context
	each    func(...E) error
	collect func() error // appends to batch what was taken
	batch   []E
	err     error
}

// flush hands on what there is. It is what a scanner calls before it reads.
func (o *outlet[E]) flush() error {
	switch {
	case o.err != nil:
		return o.err
	case o.ctx.Err() != nil:
		o.err = context.Cause(o.ctx)
		return o.err
	}
	if o.err = o.collect(); o.err == nil && len(o.batch) > 0 {
		o.err = o.each(o.batch...)
	}
	clear(o.batch)
	o.batch = o.batch[:0]
	return o.err
}

// stop keeps an error of the receiver's.
func (o *outlet[E]) stop(err error) error {
	if o.err == nil {
		o.err = err
	}
	return err
}

// finish ends a call that has come to err: what was read before is handed on.
func (o *outlet[E]) finish(err error) error {
	if stopped := o.flush(); stopped != nil {
		return stopped
	}
	return classed(err)
}
