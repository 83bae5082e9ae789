package storage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ListOptions say what part of a collection to list.
type ListOptions struct {
	// Revision is the one at which to read; 0 means the newest.
	Revision int64
	// From is the key to start at, without the prefix; "" means the first.
	From string
	// Limit is the greatest number of entries to return; 0 means all.
	Limit int64
}

// Page is what a list returned.
type Page struct {
	// Entries are in bytewise order of their keys.
	Entries []Entry
	// Revision is the one at which all of them were read.
	Revision int64
	// Remaining is the number of entries behind the page.
	Remaining int64
}

// List returns the entries whose keys begin with prefix, all of them at one revision. It reads
// from etcd in pages, so that one request never holds it up for long.
func (s *Store) List(ctx context.Context, prefix string, o ListOptions) (Page, error) {
	start := s.options.Root + prefix
	end := clientv3.GetPrefixRangeEnd(start)
	page := Page{Revision: o.Revision}
	for from := start + o.From; ; {
		size := s.options.PageSize
		if o.Limit > 0 {
			size = min(size, o.Limit-int64(len(page.Entries)))
		}
		response, err := s.kv.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(size),
			clientv3.WithRev(page.Revision), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
		if err != nil {
			return Page{}, fmt.Errorf("storage: list %s: %w", prefix, classify(err))
		}
		if page.Revision == 0 {
			page.Revision = response.Header.Revision
		}
		for _, kv := range response.Kvs {
			page.Entries = append(page.Entries,
				Entry{Key: string(kv.Key[len(s.options.Root):]), Value: kv.Value, Revision: kv.ModRevision})
		}
		page.Remaining = response.Count - int64(len(response.Kvs))
		if !response.More || int64(len(page.Entries)) == o.Limit {
			return page, nil
		}
		from = string(response.Kvs[len(response.Kvs)-1].Key) + "\x00"
	}
}

// tokenVersion is the form of token that the Kubernetes API writes.
const tokenVersion = "meta.k8s.io/v1"

// Token says where a list goes on. Clients see it encoded and must not look into it.
type Token struct {
	// Revision is that of the pages before; -1 means the newest.
	Revision int64
	// From is the key to go on at, without the prefix of the list.
	From string
}

type token struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

// Encode returns the token as clients get it.
func (t Token) Encode() string {
	data, err := json.Marshal(token{Version: tokenVersion, Revision: t.Revision, Start: t.From})
	if err != nil {
		panic(err) // numbers and strings can always be written
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// ParseToken reads what [Token.Encode] wrote. Anything else is refused with an error that
// wraps [ErrBadToken].
func ParseToken(s string) (Token, error) {
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	var t token
	if err := json.Unmarshal(data, &t); err != nil {
		return Token{}, fmt.Errorf("%w: %w", ErrBadToken, err)
	}
	if t.Version != tokenVersion || t.Revision == 0 || t.Revision < -1 || t.Start == "" {
		return Token{}, fmt.Errorf("%w: %q", ErrBadToken, data)
	}
	if key := "/" + strings.TrimPrefix(t.Start, "/"); path.Clean(key) != key {
		return Token{}, fmt.Errorf("%w: %s", ErrBadToken, t.Start)
	}
	return Token{Revision: t.Revision, From: t.Start}, nil
}
