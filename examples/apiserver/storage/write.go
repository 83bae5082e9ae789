package storage

import (
	"bytes"
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Create puts a value under a key that holds nothing, or fails with [ErrExists]. At the same time it makes the
// claims, or fails with [ErrClaimed] when another entry has one of them.
func (s *Store) Create(ctx context.Context, key string, value []byte, claims ...string) (Entry, error) {
	full := s.options.Root + key
	free, taken := s.claim(key, claims)
	response, err := s.kv.Txn(ctx).
		If(append(free, clientv3.Compare(clientv3.ModRevision(full), "=", 0))...).
		Then(append(taken, clientv3.OpPut(full, string(value)))...).
		Else(clientv3.OpGet(full, clientv3.WithCountOnly())).Commit()
	if err != nil {
		return Entry{}, fmt.Errorf("storage: create %s: %w", key, classify(err))
	}
	if !response.Succeeded {
		err := ErrExists
		if response.Responses[0].GetResponseRange().Count == 0 {
			err = ErrClaimed
		}
		return Entry{}, fmt.Errorf("storage: create %s: %w", key, err)
	}
	return Entry{Key: key, Value: value, Revision: response.Header.Revision}, nil
}

// Change is what a [Store.GuaranteedUpdate] is to do.
type Change struct {
	// Value is the new value; the very bytes of the old one mean that there is nothing to do.
	Value []byte
	// Delete asks for the entry to be deleted; Value is not looked at.
	Delete bool
	// Claim and Release are claims that the entry makes and gives up with the change, and only with one.
	Claim, Release []string
}

// claimRoot is the prefix of the keys of claims, which stand beside what is claimed for.
const claimRoot = "/claims/"

// Claims returns the claims that begin with prefix, without it, but for those that the entry under key has: what a
// writer knows of that one may be older.
func (s *Store) Claims(ctx context.Context, prefix, key string) ([]string, error) {
	page, err := s.List(ctx, claimRoot+prefix, ListOptions{})
	var claims []string
	for _, e := range page.Entries {
		if string(e.Value) != key {
			claims = append(claims, e.Key[len(claimRoot+prefix):])
		}
	}
	return claims, err
}

// claim returns the conditions under which an entry can make claims, and the operations that make them.
func (s *Store) claim(key string, claims []string) ([]clientv3.Cmp, []clientv3.Op) {
	var free []clientv3.Cmp
	var taken []clientv3.Op
	for _, c := range claims {
		c = s.options.Root + claimRoot + c
		free = append(free, clientv3.Compare(clientv3.ModRevision(c), "=", 0))
		taken = append(taken, clientv3.OpPut(c, key))
	}
	return free, taken
}

// GuaranteedUpdate replaces or deletes what is under a key with what change makes of it.
//
// change sees the current entry. It is called again when another write came between, or another entry has what it
// claims, so it must not have effects of its own; its error ends the call and is returned as it is. When it
// returns the value unchanged nothing is written and no revision is used.
//
// The returned entry is the one that is there afterwards. After a delete it is the last one,
// with the revision of the deletion. Nothing under the key is [ErrNotFound].
func (s *Store) GuaranteedUpdate(ctx context.Context, key string, change func(Entry) (Change, error)) (Entry, error) {
	full := s.options.Root + key
	current, err := s.Get(ctx, key)
	for {
		if err != nil {
			return Entry{}, err
		}
		to, err := change(current)
		if err != nil {
			return Entry{}, err
		}
		if !to.Delete && bytes.Equal(to.Value, current.Value) {
			return current, nil
		}
		write := clientv3.OpPut(full, string(to.Value))
		if to.Delete {
			write = clientv3.OpDelete(full)
		}
		free, operations := s.claim(key, to.Claim)
		for _, c := range to.Release {
			operations = append(operations, clientv3.OpDelete(s.options.Root+claimRoot+c))
		}
		response, err := s.kv.Txn(ctx).
			If(append(free, clientv3.Compare(clientv3.ModRevision(full), "=", current.Revision))...).
			Then(append(operations, write)...).Else(clientv3.OpGet(full)).Commit()
		if err != nil {
			return Entry{}, fmt.Errorf("storage: update %s: %w", key, classify(err))
		}
		if response.Succeeded {
			current.Revision = response.Header.Revision
			if !to.Delete {
				current.Value = to.Value
			}
			return current, nil
		}
		kvs := response.Responses[0].GetResponseRange().Kvs
		if len(kvs) == 0 {
			return Entry{}, fmt.Errorf("storage: update %s: %w", key, ErrNotFound)
		}
		current = Entry{Key: key, Value: kvs[0].Value, Revision: kvs[0].ModRevision}
	}
}

// Delete removes the entry under key when check, which sees it, returns nil; check may be nil.
// It returns the last entry with the revision of the deletion.
func (s *Store) Delete(ctx context.Context, key string, check func(Entry) error) (Entry, error) {
	return s.GuaranteedUpdate(ctx, key, func(e Entry) (Change, error) {
		if check != nil {
			if err := check(e); err != nil {
				return Change{}, err
			}
		}
		return Change{Delete: true}, nil
	})
}
