package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

const (
	acceptJSON        = "application/json"
	acceptPartial     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	acceptPartialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// List sends one request and hands the objects on while the answer comes in; the answer as a
// whole is never in memory. It blocks until the list is complete, each returns an error, or ctx
// is done. An answer that ends too early fails with [listwatch.ErrUnavailable], also when all
// that it had was handed on.
//
// With several namespaces it sends one request for each, with a limit one a call. Those after
// the first ask for exactly the state of the first one's version; when the server refuses that,
// one more request asks for what it has, and each of the rest is at a version of its own then.
// But with a limit a version that is too old fails with [listwatch.ErrExpired], as it does
// between any two pages.
func (s *Source[T]) List(ctx context.Context, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	if len(s.paths) == 1 {
		return s.list(ctx, s.paths[0], o, each)
	}
	return s.listAll(ctx, o, each)
}

// list reads one page of one collection.
func (s *Source[T]) list(ctx context.Context, path string, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	answer, err := s.open(ctx, path, o)
	if err != nil {
		return listwatch.ListMeta{}, err
	}
	return s.read(ctx, path, answer, o, each)
}

// open requests one page of one collection.
func (s *Source[T]) open(ctx context.Context, path string, o listwatch.ListOptions) (io.ReadCloser, error) {
	accept := acceptJSON
	if s.o.MetadataOnly {
		accept = acceptPartialList
	}
	answer, err := s.endpoint.get(ctx, path, s.listQuery(o), accept, false)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path, err)
	}
	return answer, nil
}

// read hands on the objects of an answer, and closes it.
func (s *Source[T]) read(ctx context.Context, path string, answer io.ReadCloser, o listwatch.ListOptions, each func(...T) error) (listwatch.ListMeta, error) {
	defer answer.Close()
	p := &page[T]{
		in:  intake[T]{o: s.o, make: s.make, kinds: s.kinds(), known: o.Known, refused: o.Refused},
		out: outlet[T]{ctx: ctx, each: each},
	}
	p.out.collect = func() error {
		return p.in.collect(func(e listwatch.Event[T]) { p.out.batch = append(p.out.batch, e.Object) })
	}
	p.scanner = jsonstream.New(answer, s.o.MaxObjectBytes, p.out.flush)
	if err := p.out.finish(p.read()); err != nil {
		if p.out.err != nil {
			return listwatch.ListMeta{}, err
		}
		return listwatch.ListMeta{}, fmt.Errorf("list %s: %w", path, err)
	}
	if p.any {
		s.learn(p.in.kinds.want)
	}
	return listwatch.ListMeta{
		ResourceVersion: p.meta.ResourceVersion, Continue: p.meta.Continue, Remaining: p.meta.RemainingItemCount,
	}, nil
}

// selection is the part of a query that lists and watches share.
func (s *Source[T]) selection() url.Values {
	query := make(url.Values)
	if s.o.LabelSelector != "" {
		query.Set("labelSelector", s.o.LabelSelector)
	}
	if s.o.FieldSelector != "" {
		query.Set("fieldSelector", s.o.FieldSelector)
	}
	return query
}

// listQuery never sends a version with a limit but without a match: servers take that for
// "exactly this version".
func (s *Source[T]) listQuery(o listwatch.ListOptions) url.Values {
	query := s.selection()
	if o.Limit > 0 {
		query.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	switch {
	case o.Continue != "":
		query.Set("continue", o.Continue)
	case o.Match == listwatch.MatchExact:
		query.Set("resourceVersion", o.ResourceVersion)
		query.Set("resourceVersionMatch", "Exact")
	case o.Match == listwatch.MatchNotOlder && o.ResourceVersion != "":
		query.Set("resourceVersion", o.ResourceVersion)
		query.Set("resourceVersionMatch", "NotOlderThan")
	}
	return query
}

// page reads the answer to a list request. Its members may come in any order: built-in kinds
// have the metadata first, custom resources last.
type page[T listwatch.Object] struct {
	in      intake[T]
	out     outlet[T]
	scanner *jsonstream.Scanner
	value   jsonstream.Value
	kind    string
	items   bool // they were there
	any     bool // so was one of them: an empty list teaches no kind
	meta    struct {
		ResourceVersion    string `json:"resourceVersion"`
		Continue           string `json:"continue"`
		RemainingItemCount int64  `json:"remainingItemCount"`
	}
}

func (p *page[T]) read() error {
	if err := p.scanner.Object(p.member); err != nil {
		return err
	}
	if p.kind == "" {
		return p.in.kinds.checkList("")
	}
	return p.scanner.End()
}

func (p *page[T]) member(key []byte) error {
	switch string(key) {
	case "kind":
		return p.readKind()
	case "metadata":
		if err := p.scanner.Cut(nil, &p.value); err != nil {
			return err
		}
		if p.value.TooLarge {
			return fmt.Errorf("%w: metadata of %d bytes", listwatch.ErrTooLarge, p.value.Size)
		}
		if err := json.Unmarshal(p.value.Bytes, &p.meta); err != nil {
			return fmt.Errorf("%w: metadata: %w", listwatch.ErrDecode, err)
		}
		return nil
	case "items":
		return p.readItems()
	}
	if bytes.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
		return fmt.Errorf("%w: member %q", listwatch.ErrDecode, key) // it may have been the items
	}
	return p.scanner.Skip()
}

func (p *page[T]) readKind() error {
	if err := p.scanner.Cut(nil, &p.value); err != nil {
		return err
	}
	kind, ok := jsonstream.Text(p.value.Bytes)
	if !ok {
		return fmt.Errorf("%w: the kind of the list is no string", listwatch.ErrDecode)
	}
	p.kind = kind
	return p.in.kinds.checkList(kind)
}

func (p *page[T]) readItems() error {
	if p.items {
		return fmt.Errorf("%w: items twice", listwatch.ErrDecode)
	}
	p.items = true
	if c, err := p.scanner.Peek(); err == nil && c == 'n' {
		if err := p.scanner.Cut(nil, &p.value); err != nil {
			return err
		}
		if !bytes.Equal(p.value.Bytes, []byte("null")) {
			return fmt.Errorf("%w: items is no array", listwatch.ErrDecode)
		}
		return nil
	}
	return p.scanner.Array(p.item)
}

func (p *page[T]) item() error {
	if err := p.scanner.Cut(itemShape, &p.value); err != nil {
		return err
	}
	p.any = true
	piece := p.in.piece(&p.value, p.value.Bytes)
	// Items of built-in kinds have none: then what the list says of itself must do.
	piece.kindless = piece.kind == ""
	if err := p.in.take(piece, listwatch.Event[T]{}, true); err != nil {
		return p.out.stop(err)
	}
	return nil
}
