package wire

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/fakes"
)

// watch answers a watch.
func (s *Server[T]) watch(a *answer, from listwatch.ListerWatcher[T], query url.Values) {
	o, err := watchOptions(query)
	if err != nil {
		a.refuse(err)
		return
	}
	if o.Timeout < 0 {
		a.begin()
		return
	}
	if query.Has("sendInitialEvents") && !o.InitialEvents && o.ResourceVersion == "" {
		o.ResourceVersion = s.source.Version() // nothing of what exists
	}
	bookmarks := query.Get("allowWatchBookmarks") == "true"
	o.Refused = func(h listwatch.Head, reason error) error {
		kind := "MODIFIED"
		if errors.Is(reason, listwatch.ErrProtocol) && h.Key.Name != "" {
			kind = "UNKNOWN"
		}
		a.event(kind, s.spoiled(a, h, reason))
		return a.flush()
	}
	ctx := fakes.WithBegun(a.r.Context(), a.begin)
	err = from.Watch(ctx, o, func(events ...listwatch.Event[T]) error {
		for _, e := range events {
			switch e.Type {
			case listwatch.Bookmark, listwatch.Synced:
				if bookmarks {
					a.event("BOOKMARK", s.bookmark(a, e.ResourceVersion, e.Type == listwatch.Synced))
				}
			default:
				text, err := s.encode(a, e.Object, false)
				if err != nil {
					return err
				}
				a.event(strings.ToUpper(e.Type.String()), text)
			}
		}
		return a.flush()
	})
	var status *listwatch.StatusError
	switch {
	case err == nil:
		a.begin()
	case errors.As(err, &status) && (a.begun || status.Event) && a.r.Context().Err() == nil:
		a.begin()
		a.event("ERROR", statusOf(status))
	default:
		a.refuse(err)
	}
}

// event writes an event. What goes wrong is told by the flush behind it.
func (a *answer) event(kind string, object []byte) {
	_, _ = a.out.WriteString(`{"type":"` + kind + `","object":`)
	_, _ = a.out.Write(object)
	_, _ = a.out.WriteString("}\n")
}

// watchOptions reads the query of a watch.
func watchOptions(query url.Values) (o listwatch.WatchOptions, err error) {
	o.ResourceVersion = query.Get("resourceVersion")
	if text := query.Get("timeoutSeconds"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return o, fakes.Status(http.StatusBadRequest, err.Error())
		}
		o.Timeout = time.Duration(seconds) * time.Second
	}
	match := query.Get("resourceVersionMatch")
	initial := query.Has("sendInitialEvents")
	switch {
	case initial && match != "NotOlderThan":
		return o, invalid("resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
	case !initial && match != "":
		return o, invalid("resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
	}
	o.InitialEvents = initial && query.Get("sendInitialEvents") != "false"
	return o, nil
}
