package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

// endMark is the annotation of the bookmark behind the initial events.
const endMark = "k8s.io/initial-events-end"

func marshal[T listwatch.Object](o T) ([]byte, error) { return json.Marshal(o) }

// typed are the members of an object that are looked at.
type typed struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Metadata   json.RawMessage `json:"metadata"`
}

// encode returns the JSON of an object; in a list of built-in kinds it has no kind. What cannot be
// sent is a status 500.
func (s *Server[T]) encode(a *answer, o T, item bool) ([]byte, error) {
	text, err := s.o.Encode(o)
	if err != nil {
		return nil, internal("encode %s: %v", listwatch.KeyOf(o), err)
	}
	var t typed
	text = bytes.TrimSpace(text)
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, internal("encode %s: %v in %.200q", listwatch.KeyOf(o), err, text)
	}
	if !bytes.HasPrefix(t.Metadata, []byte("{")) {
		return nil, internal("encode %s: no object \"metadata\" in %.200q", listwatch.KeyOf(o), text)
	}
	kind, version := s.kinds(a)
	switch {
	case a.partial:
		return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s}`, kind, version, t.Metadata), nil
	case t.Kind != "" || item && s.o.BuiltIn:
		return text, nil
	}
	return append(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, kind, version), text[1:]...), nil
}

// internal is the refusal of a request that the server cannot answer.
func internal(format string, args ...any) error {
	e := fakes.Status(http.StatusInternalServerError, fmt.Sprintf(format, args...))
	e.Reason = "InternalError"
	return e
}

// kinds returns kind and apiVersion of what is sent.
func (s *Server[T]) kinds(a *answer) (kind, version string) {
	if a.partial {
		return "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	return s.o.Kind, s.o.APIVersion
}

// bookmark returns the object of a bookmark.
func (s *Server[T]) bookmark(a *answer, version string, end bool) []byte {
	kind, api := s.kinds(a)
	mark := ""
	if end {
		mark = fmt.Sprintf(`,"annotations":{%q:"true"}`, endMark)
	}
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q%s}}`, kind, api, version, mark)
}

// spoiled returns what is sent in the place of an object that the client must not be able to
// take, for the reason that the source gave.
func (s *Server[T]) spoiled(a *answer, h listwatch.Head, reason error) []byte {
	kind, api := s.kinds(a)
	meta := map[string]any{"resourceVersion": h.ResourceVersion, "uid": h.UID, "name": h.Key.Name}
	if h.Key.Namespace != "" {
		meta["namespace"] = h.Key.Namespace
	}
	more := ""
	switch {
	case errors.Is(reason, listwatch.ErrWrongKind):
		kind = "Another" + kind
	case errors.Is(reason, listwatch.ErrTooLarge):
		more = fmt.Sprintf(`,"padding":%q`, strings.Repeat("x", s.o.OversizeBytes))
	case errors.Is(reason, listwatch.ErrDecode):
		meta["uid"] = []int{1}
	case h.Key.Name == "":
		delete(meta, "name")
	}
	text, err := json.Marshal(meta)
	if err != nil {
		panic(err) // strings and numbers
	}
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s%s}`, kind, api, text, more)
}
