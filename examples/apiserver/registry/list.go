package registry

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	Objects []kinds.Object
	// Meta is the metadata of the list.
	Meta metav1.ListMeta
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
	at, err := r.listAt(ctx, o)
	if err != nil {
		return List{}, err
	}
	list, err := r.list(ctx, t, s, at)
	switch {
	case errors.Is(err, storage.ErrCompacted) && o.Continue != "":
		expired := apierrors.NewResourceExpired(expiredContinue)
		expired.ErrStatus.ListMeta.Continue = storage.Token{Revision: -1, From: at.From}.Encode()
		return List{}, expired
	case errors.Is(err, storage.ErrCompacted):
		return List{}, apierrors.NewResourceExpired(expiredList)
	}
	return list, err
}

// listAt finds out where and at which revision to read.
func (r *Registry) listAt(ctx context.Context, o metav1.ListOptions) (storage.ListOptions, error) {
	if o.Continue != "" {
		return continueAt(o)
	}
	revision, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return storage.ListOptions{}, err
	}
	if err := r.waitFor(ctx, revision); err != nil {
		return storage.ListOptions{}, err
	}
	at := storage.ListOptions{Limit: max(o.Limit, 0)}
	switch {
	case o.ResourceVersion == "0":
		// Any state will do: the API answers it from a cache, which knows no pages.
		at.Limit = 0
	case o.ResourceVersionMatch == metav1.ResourceVersionMatchExact,
		// From before there was a match: with a limit a version means exactly that one.
		o.ResourceVersionMatch == "" && at.Limit > 0:
		at.Revision = revision
	}
	return at, nil
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

// scanSize is how many objects are looked at in one request when only some of them match.
const scanSize = 500

// list reads until as many objects as asked for match.
func (r *Registry) list(ctx context.Context, t Target, s selector, at storage.ListOptions) (List, error) {
	list, prefix, limit := List{Objects: []kinds.Object{}}, t.prefix(), int(at.Limit)
	if limit > 0 && !s.empty() {
		at.Limit = scanSize
	}
	for {
		page, err := r.store.List(ctx, prefix, at)
		if err != nil {
			return List{}, err
		}
		at.Revision = page.Revision
		list.Meta.ResourceVersion = formatVersion(page.Revision)
		for i, entry := range page.Entries {
			object, err := t.decode(entry)
			if err != nil {
				return List{}, err
			}
			if !s.matches(object) {
				continue
			}
			list.Objects = append(list.Objects, object)
			rest := int64(len(page.Entries)-i-1) + page.Remaining
			if len(list.Objects) == limit && rest > 0 {
				list.Meta.Continue = storage.Token{Revision: page.Revision, From: behind(entry, prefix)}.Encode()
				if s.empty() {
					list.Meta.RemainingItemCount = &rest
				}
				return list, nil
			}
		}
		if page.Remaining == 0 {
			return list, nil
		}
		at.From = behind(page.Entries[len(page.Entries)-1], prefix)
	}
}

// behind is the first key that can follow an entry.
func behind(e storage.Entry, prefix string) string { return e.Key[len(prefix):] + "\x00" }
