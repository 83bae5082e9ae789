package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/cacher"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
	"github.com/seed3bce33ad/listwatch/examples/apiserver/storage"
)

// The texts of the two ways in which a list can be too old.
const (
	expiredList     = "The resourceVersion for the provided list is too old."
	expiredContinue = "The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response " +
		"to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent " +
		"list - objects that were created, modified, or deleted between the time the first chunk was returned and now " +
		"may show up in the list."
)

// List is what a list returned: a whole collection or a page of it.
type List struct {
	// Objects are in order of their keys.
	Objects []Item
	// Meta is the metadata of the list.
	Meta metav1.ListMeta
}

// Decode returns the objects, decoded anew: they are the caller's.
func (l List) Decode() ([]kinds.Object, error) {
	objects := make([]kinds.Object, len(l.Objects))
	for i, item := range l.Objects {
		var err error
		if objects[i], err = item.Object(); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// List returns the objects of the collection that the options select.
func (r *Registry) List(ctx context.Context, t Target, o metav1.ListOptions) (List, error) {
	if err := checkOptions(o); err != nil {
		return List{}, err
	}
	s, err := newSelector(t.Kind, o)
	if err != nil {
		return List{}, err
	}
	at, err := r.listAt(ctx, t.Kind, o)
	if err != nil {
		return List{}, err
	}
	list, err := r.list(ctx, t, s, at)
	switch {
	case o.Continue != "" && (errors.Is(err, storage.ErrCompacted) || errors.Is(err, storage.ErrFuture)):
		// A token from the future is one of a server that has been restored since.
		expired := apierrors.NewResourceExpired(expiredContinue)
		expired.ErrStatus.ListMeta.Continue = storage.Token{Revision: -1, From: at.From}.Encode()
		return List{}, expired
	case errors.Is(err, storage.ErrCompacted):
		return List{}, apierrors.NewResourceExpired(expiredList)
	}
	return list, err
}

// listAt finds out where and at which revision to read. Revision 0 is what the cache holds, which has then been
// waited for.
func (r *Registry) listAt(ctx context.Context, k *kinds.Kind, o metav1.ListOptions) (storage.ListOptions, error) {
	if o.Continue != "" {
		at, err := continueAt(o)
		if err == nil && at.Revision == 0 {
			err = r.reach(ctx, k, "")
		}
		return at, err
	}
	revision, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return storage.ListOptions{}, err
	}
	at := storage.ListOptions{Limit: max(o.Limit, 0)}
	switch {
	case o.ResourceVersion == "0":
		// Any state will do: the API answers it from a cache, which knows no pages.
		at.Limit = 0
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact,
		// From before there was a match: with a limit a version means exactly that one.
		o.ResourceVersionMatch == "" && at.Limit > 0 && revision > 0:
		at.Revision = revision
		return at, r.waitFor(ctx, revision)
	}
	return at, r.reach(ctx, k, o.ResourceVersion)
}

func continueAt(o metav1.ListOptions) (storage.ListOptions, error) {
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return storage.ListOptions{}, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	token, err := storage.ParseToken(o.Continue)
	if err != nil {
		return storage.ListOptions{}, apierrors.NewBadRequest("invalid continue token: " + err.Error())
	}
	at := storage.ListOptions{Revision: max(token.Revision, 0), From: token.From, Limit: max(o.Limit, 0)}
	if o.ResourceVersion == "0" {
		at.Limit = 0
	}
	return at, nil
}

// list reads until as many objects as asked for match: from the cache, or from etcd when the revision is an old one.
func (r *Registry) list(ctx context.Context, t Target, s selector, at storage.ListOptions) (List, error) {
	if at.Revision > 0 {
		return r.listOld(ctx, t, s, at)
	}
	page, err := r.cache(t.Kind).List(cacher.ListOptions{
		Prefix: t.within(), From: at.From, Limit: int(at.Limit), Matches: s.matches,
	})
	if err != nil {
		return List{}, err
	}
	return t.page(page, s), nil
}

// page makes a list of what was found.
func (t Target) page(p cacher.Page, s selector) List {
	list := List{Objects: make([]Item, len(p.Entries))}
	list.Meta.ResourceVersion = formatVersion(p.Revision)
	for i, e := range p.Entries {
		list.Objects[i] = Item{e, t.Kind}
	}
	if p.Remaining > 0 {
		last := p.Entries[len(p.Entries)-1].Key
		list.Meta.Continue = storage.Token{Revision: p.Revision, From: last[len(t.within()):] + "\x00"}.Encode()
		if s.empty() {
			list.Meta.RemainingItemCount = &p.Remaining
		}
	}
	return list
}

// scanSize is how many objects are looked at in one request when only some of them match.
const scanSize = 500

// listOld reads from etcd.
func (r *Registry) listOld(ctx context.Context, t Target, s selector, at storage.ListOptions) (List, error) {
	found, prefix, limit := cacher.Page{}, t.prefix(), int(at.Limit)
	if limit > 0 && !s.empty() {
		at.Limit = scanSize
	}
	for {
		page, err := r.store.List(ctx, prefix, at)
		if err != nil {
			return List{}, err
		}
		found.Revision = page.Revision
		for i, from := range page.Entries {
			e := cacher.NewEntry(from.Key[len(root(t.Kind)):], from.Value, from.Revision, t.Kind.Stamp)
			matches, err := s.matches(e)
			if err != nil {
				return List{}, err
			}
			if !matches {
				continue
			}
			found.Entries = append(found.Entries, e)
			found.Remaining = int64(len(page.Entries)-i-1) + page.Remaining
			if len(found.Entries) == limit {
				return t.page(found, s), nil
			}
		}
		if page.Remaining == 0 {
			found.Remaining = 0
			return t.page(found, s), nil
		}
		at.From = page.Entries[len(page.Entries)-1].Key[len(prefix):] + "\x00"
	}
}
