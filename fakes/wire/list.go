package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

// list answers a list.
func (s *Server[T]) list(a *answer, from listwatch.ListerWatcher[T], query url.Values) {
	o, err := listOptions(query)
	if err != nil {
		a.refuse(err)
		return
	}
	body := &listBody{to: a.out, builtIn: s.o.BuiltIn}
	body.kind, body.api = s.kinds(a)
	o.Refused = func(h listwatch.Head, reason error) error { return body.add(s.spoiled(a, h, reason)) }
	meta, err := from.List(a.r.Context(), o, func(objects ...T) error {
		for _, object := range objects {
			text, err := s.encode(a, object, true)
			if err != nil {
				return err
			}
			if err := body.add(text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if body.n > 0 { // some of it may have been sent, so there is no other way
			a.begin()
			_ = a.out.Flush()
		}
		a.refuse(err)
		return
	}
	body.end(meta)
}

// listBody writes the body of a list. Errors of its writer are told by the flush behind it.
type listBody struct {
	to        io.Writer
	kind, api string
	builtIn   bool
	n         int
	// held are the items of a built-in kind, whose metadata comes first and is known last.
	held bytes.Buffer
}

// add writes an item.
func (b *listBody) add(text []byte) error {
	to := b.to
	if b.builtIn {
		to = &b.held
	}
	if b.n++; b.n > 1 {
		text = append([]byte{','}, text...)
	} else if !b.builtIn {
		text = append(fmt.Appendf(nil, `{"apiVersion":%q,"items":[`, b.api), text...)
	}
	_, err := to.Write(text)
	return err
}

// end writes the rest.
func (b *listBody) end(m listwatch.ListMeta) {
	meta := fmt.Sprintf(`"resourceVersion":%q`, m.ResourceVersion)
	if m.Continue != "" || !b.builtIn {
		meta = fmt.Sprintf(`"continue":%q,`, m.Continue) + meta
	}
	if m.Remaining > 0 {
		meta += fmt.Sprintf(`,"remainingItemCount":%d`, m.Remaining)
	}
	if b.builtIn {
		fmt.Fprintf(b.to, `{"kind":"%sList","apiVersion":%q,"metadata":{%s},"items":[%s]}`+"\n", b.kind, b.api, meta, b.held.Bytes())
		return
	}
	if b.n == 0 {
		fmt.Fprintf(b.to, `{"apiVersion":%q,"items":[`, b.api)
	}
	fmt.Fprintf(b.to, `],"kind":"%sList","metadata":{%s}}`+"\n", b.kind, meta)
}

// listOptions reads the query of a list.
func listOptions(query url.Values) (o listwatch.ListOptions, err error) {
	o.ResourceVersion, o.Continue = query.Get("resourceVersion"), query.Get("continue")
	if limit := query.Get("limit"); limit != "" {
		if o.Limit, err = strconv.ParseInt(limit, 10, 64); err != nil {
			return o, fakes.Status(http.StatusBadRequest, err.Error())
		}
	}
	match := query.Get("resourceVersionMatch")
	switch {
	case query.Has("sendInitialEvents"):
		return o, invalid("sendInitialEvents is forbidden for list")
	case o.Continue != "" && match != "":
		return o, invalid("resourceVersionMatch is forbidden when continue is provided")
	case o.Continue != "" && o.ResourceVersion == "0":
		o.Limit = 0
		return o, nil
	case o.Continue != "" && o.ResourceVersion != "":
		return o, fakes.Status(http.StatusBadRequest, "specifying resource version is not allowed when using continue")
	case o.Continue != "":
		return o, nil
	case match != "" && o.ResourceVersion == "":
		return o, invalid("resourceVersionMatch is forbidden unless resourceVersion is provided")
	}
	switch match {
	case "Exact":
		o.Match = listwatch.MatchExact
	case "NotOlderThan":
		o.Match = listwatch.MatchNotOlder
	case "":
		switch {
		case o.ResourceVersion == "":
		case o.Limit > 0 && o.ResourceVersion != "0": // as servers did before there was a match
			o.Match = listwatch.MatchExact
		default:
			o.Match = listwatch.MatchNotOlder
		}
	default:
		return o, invalid(fmt.Sprintf("resourceVersionMatch: Unsupported value: %q", match))
	}
	return o, nil
}

// invalid is the refusal of options that make no sense.
func invalid(message string) error {
	return fakes.Status(http.StatusUnprocessableEntity, `ListOptions.meta.k8s.io "" is invalid: `+message)
}
