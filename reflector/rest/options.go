package rest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/seed3bce33ad/listwatch/internal/timing"
)

// Options say how a [Source] talks to its server. The zero value works against a server that
// wants no credentials.
type Options struct {
	// Client sends the requests, with whatever credentials its transport adds. Its Timeout
	// should be 0, as it would cut watches. Defaults to a client of the source's own: proxy
	// from the environment, HTTP/2 with pings that find a dead connection.
	Client *http.Client
	// TLS is for the source's own client; it must not be set together with Client. Defaults to
	// the system's certificate authorities.
	TLS *tls.Config
	// PingIdle is how long an HTTP/2 connection of the source's own client may be silent before
	// it is pinged. Defaults to 30 s.
	PingIdle time.Duration
	// PingTimeout is how long the answer to a ping may take before the connection is given up.
	// Defaults to 15 s.
	PingTimeout time.Duration

	// Namespaces restricts the source to some namespaces, one request each. A source with
	// several serves one consumer and lists them all at one version if the server can, see the
	// package's comment. An empty name is refused: the server would take it for all namespaces.
	// Defaults to all of them.
	Namespaces []string
	// LabelSelector selects by labels, such as "app=web". Defaults to everything.
	LabelSelector string
	// FieldSelector selects by fields, such as "spec.nodeName=n1". Defaults to everything.
	FieldSelector string
	// Kind is the kind of the objects, such as "Pod"; anything else is refused. It is not
	// looked at with MetadataOnly. Set it where an answer may come from another server than the
	// one that was asked. Defaults to what the first answer with an object says.
	Kind string
	// ListKind is the kind of the list. Defaults to Kind, or what is learnt, with "List" behind.
	ListKind string
	// MetadataOnly asks for the metadata of the objects alone (PartialObjectMetadata). Defaults
	// to whole objects.
	MetadataOnly bool

	// UserAgent names the program to the server. Defaults to "listwatch".
	UserAgent string
	// Token is sent as bearer token. Defaults to none.
	Token string
	// TokenFile holds the bearer token. It is read again every 10 seconds at most, and after
	// the server has answered 401. Defaults to none.
	TokenFile string
	// Header is added to every request; what the source sets itself wins. Defaults to none.
	Header http.Header

	// MaxObjectBytes is the size of the largest JSON of an object that is taken. A larger one
	// is refused without being held in memory. Defaults to 16 MiB.
	MaxObjectBytes int64
	// Skip names fields that are left empty, such as "metadata.managedFields", which is often
	// half of an object; an [Object] is without them. Arrays on the path are passed through.
	// Defaults to none.
	Skip []string
	// Decode decodes the JSON of one object into v, a *T. data is lent: it must not be kept. It
	// may be called by two goroutines at once. It must not be set together with Skip. Defaults to
	// a decoder with the results of encoding/json, but that a whole number becomes an int64 where
	// the type leaves it open, and that an UnmarshalJSON may be left out when it has just made a
	// small value without pointers, such as a time or a quantity, of the same short text.
	Decode func(data []byte, v any) error
	// Clock says when a token is old and when a Retry-After date is. Defaults to the real one.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	if o.PingIdle == 0 {
		o.PingIdle = 30 * time.Second
	}
	if o.PingTimeout == 0 {
		o.PingTimeout = 15 * time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = "listwatch"
	}
	if o.MaxObjectBytes == 0 {
		o.MaxObjectBytes = 16 << 20
	}
	o.MaxObjectBytes = min(o.MaxObjectBytes, math.MaxInt64/2)
	o.Clock = timing.Or(o.Clock)
	o.Namespaces = slices.Clone(o.Namespaces)
	o.Header = o.Header.Clone()
	return o
}

func (o Options) validate() error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }
	if o.Client != nil && o.TLS != nil {
		fault("Client and TLS are both set")
	}
	if o.PingIdle < 0 || o.PingTimeout < 0 {
		fault("PingIdle or PingTimeout is negative")
	}
	if o.Token != "" && o.TokenFile != "" {
		fault("Token and TokenFile are both set")
	}
	if o.Decode != nil && len(o.Skip) > 0 {
		fault("Decode and Skip are both set")
	}
	if o.MaxObjectBytes < 0 {
		fault("MaxObjectBytes is negative")
	}
	seen := make(map[string]bool)
	for _, namespace := range o.Namespaces {
		switch {
		case namespace == "":
			fault("Namespaces holds an empty name, which a server takes for all namespaces")
		case strings.Trim(namespace, ".") == "" || strings.ContainsAny(namespace, "/?#%\\"):
			fault("Namespaces holds %q", namespace)
		case seen[namespace]:
			fault("Namespaces holds %q twice", namespace)
		}
		seen[namespace] = true
	}
	return errors.Join(faults...)
}
