package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListVersion is the version of a collection before its first event; that of event n is n more.
const ListVersion = 5_000_000_000

// What is written at once.
const (
	listChunk  = 1 << 18
	eventChunk = 1 << 16
)

// Spec says what a session's collection is like.
type Spec struct {
	// Objects is the number of pods.
	Objects int
	// Stream offers initial events; otherwise a watch that asks for them is refused.
	Stream bool
}

// Command is something that the next watch does, or the one that is open.
type Command struct {
	// Events is how many pods are modified, one after the other, round and round.
	Events int
	// PerSecond paces them; each is sent by itself then. 0: as fast as they are read.
	PerSecond int
	// Expire ends the watch with the error that its version is too old.
	Expire bool
}

// session is one client's view of a collection.
type session struct {
	spec     Spec
	data     [2]*encoded
	commands chan Command
	version  atomic.Int64
}

// answer serves a list or a watch.
func (s *session) answer(w http.ResponseWriter, r *http.Request) {
	form := s.data[asJSON]
	if accept := r.Header.Get("Accept"); strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf") {
		form = s.data[asProtobuf]
	}
	var err error
	switch query := r.URL.Query(); {
	case query.Get("watch") != "true" && query.Get("watch") != "1":
		err = s.list(w, r, form)
	case query.Get("sendInitialEvents") == "true" && !s.spec.Stream:
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	default:
		err = s.watch(w, r, form)
	}
	if err != nil && r.Context().Err() == nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":%q,"code":%d}`, reason, code)
}

// list answers with all pods, or a page of them; version "0" is answered whole, as from memory.
func (s *session) list(w http.ResponseWriter, r *http.Request, e *encoded) error {
	query := r.URL.Query()
	from, to := 0, len(e.items)
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && query.Get("resourceVersion") != "0" {
		from, _ = strconv.Atoi(query.Get("continue"))
		to = min(from+limit, to)
	}
	if s.version.Load() != ListVersion || from > to {
		return fmt.Errorf("a list from %d on at version %d: only the initial state can be listed", from, s.version.Load())
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.Itoa(ListVersion)}
	if rest := len(e.items) - to; rest > 0 {
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(to), new(int64(rest))
	}
	parts, err := e.list(from, to, meta)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", [...]string{"application/json", "application/vnd.kubernetes.protobuf"}[e.form])
	for _, part := range parts {
		for len(part) > 0 {
			n, err := w.Write(part[:min(len(part), listChunk)])
			if err != nil {
				return err
			}
			part = part[n:]
		}
	}
	return nil
}

// watch sends the initial events if they are asked for, and then does what it is told.
func (s *session) watch(w http.ResponseWriter, r *http.Request, e *encoded) error {
	w.Header().Set("Content-Type", [...]string{"application/json", "application/vnd.kubernetes.protobuf;stream=watch"}[e.form])
	out := &stream{e: e, w: w, control: http.NewResponseController(w)}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		if err := s.initial(out); err != nil {
			return err
		}
	}
	if err := out.flush(); err != nil {
		return err
	}
	for {
		select {
		case c := <-s.commands:
			if c.Expire {
				return s.expire(out)
			}
			if err := s.events(r, out, c); err != nil {
				return err
			}
		case <-r.Context().Done():
			return nil
		}
	}
}

func (s *session) initial(out *stream) error {
	for n := range out.e.items {
		if err := out.add(event{kind: "ADDED", number: n}); err != nil {
			return err
		}
	}
	mark := metav1.ObjectMeta{
		ResourceVersion: strconv.FormatInt(s.version.Load(), 10), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}
	as := metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	return out.other("BOOKMARK", &corev1.Pod{TypeMeta: as, ObjectMeta: mark}, as)
}

func (s *session) expire(out *stream) error {
	as := metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if err := out.other("ERROR", &metav1.Status{
		TypeMeta: as, Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
		Message: "too old resource version",
	}, as); err != nil {
		return err
	}
	return out.flush()
}

// events modifies pods.
func (s *session) events(r *http.Request, out *stream, c Command) error {
	began := time.Now()
	for n := range c.Events {
		if c.PerSecond > 0 {
			due := began.Add(time.Duration(n) * time.Second / time.Duration(c.PerSecond))
			select {
			case <-time.After(time.Until(due)):
			case <-r.Context().Done():
				return nil
			}
		}
		version := s.version.Add(1)
		number := int((version - ListVersion - 1) % int64(len(out.e.items)))
		if err := out.add(event{kind: "MODIFIED", number: number, version: version, sent: time.Now().UnixNano()}); err != nil {
			return err
		}
		if c.PerSecond > 0 {
			if err := out.flush(); err != nil {
				return err
			}
		}
	}
	return out.flush()
}

// stream gathers frames.
type stream struct {
	e       *encoded
	w       http.ResponseWriter
	control *http.ResponseController
	pending []byte
}

func (o *stream) add(ev event) error {
	o.pending = o.e.appendEvent(o.pending, ev)
	if len(o.pending) < eventChunk {
		return nil
	}
	return o.write()
}

func (o *stream) other(kind string, object protobufObject, as metav1.TypeMeta) error {
	frame, err := o.e.frame(kind, object, as)
	o.pending = append(o.pending, frame...)
	return err
}

func (o *stream) write() error {
	_, err := o.w.Write(o.pending)
	o.pending = o.pending[:0]
	return err
}

// flush sends what there is; without anything, the head of the answer.
func (o *stream) flush() error {
	if len(o.pending) > 0 {
		if err := o.write(); err != nil {
			return err
		}
	}
	return o.control.Flush()
}
