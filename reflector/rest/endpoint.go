package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/internal/jsonstream"
)

// endpoint sends requests to one server.
type endpoint struct {
	base   *url.URL
	client *http.Client
	header http.Header
	token  token
	clock  clock.Clock
}

func newEndpoint(base *url.URL, o Options) *endpoint {
	header := o.Header
	if header == nil {
		header = make(http.Header)
	}
	header.Set("User-Agent", o.UserAgent)
	client := o.Client
	if client == nil {
		client = newClient(o)
	}
	return &endpoint{
		base: base, client: client, header: header, clock: o.Clock,
		token: token{value: o.Token, file: o.TokenFile, clock: o.Clock},
	}
}

// get sends a request and returns the body of its answer, which is JSON and must be closed.
// identity asks for a body that nothing holds back in order to compress it.
func (e *endpoint) get(ctx context.Context, path string, query url.Values, accept string, identity bool) (io.ReadCloser, error) {
	request, err := e.request(ctx, path, query, accept, identity)
	if err != nil {
		return nil, err
	}
	response, err := e.client.Do(request)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", listwatch.ErrUnavailable, err)
	case response.StatusCode == http.StatusOK:
		if err := readable(response.Header); err != nil {
			_ = response.Body.Close() // not read: it may be a stream without end
			return nil, err
		}
		return &body{ctx: ctx, ReadCloser: response.Body}, nil
	}
	if response.StatusCode == http.StatusUnauthorized {
		e.token.reject(request.Header.Get("Authorization"))
	}
	failure := failed(response, e.clock.Now())
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, failure
}

func (e *endpoint) request(ctx context.Context, path string, query url.Values, accept string, identity bool) (*http.Request, error) {
	u := *e.base
	u.Path = path
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", listwatch.ErrUnsupported, err)
	}
	request.Header = e.header.Clone()
	request.Header.Set("Accept", accept)
	if identity {
		request.Header.Set("Accept-Encoding", "identity")
	}
	token, err := e.token.get()
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	return request, nil
}

// readable makes sure that what follows the header is JSON.
func readable(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("%w: an answer with content encoding %q", listwatch.ErrDecode, encoding)
	}
	kind := header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	if kind != "" && (err != nil || media != "application/json" && !strings.HasSuffix(media, "+json")) {
		return fmt.Errorf("%w: an answer of content type %q", listwatch.ErrWrongKind, kind)
	}
	return nil
}

// body is the body of an answer, whose errors have a class.
type body struct {
	ctx context.Context
	io.ReadCloser
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case b.ctx.Err() != nil:
		return n, context.Cause(b.ctx)
	}
	return n, fmt.Errorf("%w: %w", listwatch.ErrUnavailable, err)
}

// classed gives a class to what a scanner of a body says.
func classed(err error) error {
	var syntax *jsonstream.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %w", listwatch.ErrDecode, err)
	case errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, listwatch.ErrUnavailable):
		return fmt.Errorf("%w: the answer ends too early: %w", listwatch.ErrUnavailable, err)
	}
	return err
}

// discard reads a little of what is left, so that the connection can be used again, and
// closes it.
func discard(b io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, b, 64<<10)
	_ = b.Close()
}
