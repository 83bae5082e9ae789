package fakes

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Preconditions are what an object must be for a delete to happen. The zero value demands
// nothing.
type Preconditions struct {
	// UID is the identity that the object must have; empty: any.
	UID string
	// ResourceVersion is the version that the object must have; empty: any.
	ResourceVersion string
}

// Get returns a copy of an object, or an error that wraps [listwatch.ErrNotFound].
func (s *Source[T]) Get(key listwatch.Key) (T, error) {
	s.mu.Lock()
	err := s.faults.failure(VerbGet)
	st := s.history.Get(key)
	s.mu.Unlock()
	var none T
	if err != nil {
		return none, err
	}
	if st == nil {
		return none, notFound(key)
	}
	return s.copyOf(st), nil
}

// Create adds an object and returns it as it is stored, with version and identity. Identity
// and deletion time of what is given are not looked at. An object that is there already is
// [ErrAlreadyExists]; one with a version, or without a name, is refused.
func (s *Source[T]) Create(object T) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	if err := s.faults.failure(VerbCreate); err != nil {
		return none, err
	}
	if object.GetResourceVersion() != "" {
		return none, Status(500, "resourceVersion should not be set on objects to be created")
	}
	return s.createLocked(object)
}

// Update replaces an object and returns it as it is stored. A version in it must be the stored
// one, an identity too; otherwise the error wraps [ErrConflict]. An empty version or "0"
// overwrites whatever is there. Creation and deletion time cannot be changed. An object that
// is not there is [listwatch.ErrNotFound].
//
// An update that changes nothing makes no new version. One that takes the last finalizer of an
// object that is being deleted away removes it: what is returned then has the version from
// before the deletion.
func (s *Source[T]) Update(object T) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	if err := s.faults.failure(VerbUpdate); err != nil {
		return none, err
	}
	key := listwatch.KeyOf(object)
	held := s.history.Get(key)
	if held == nil {
		return none, notFound(key)
	}
	if uid := s.uid(object); uid != "" && uid != held.stamp.UID {
		return none, conflict(key, "UID", uid, held.stamp.UID)
	}
	if v := object.GetResourceVersion(); v != "" && v != "0" && v != held.stamp.ResourceVersion {
		return none, conflict(key, "version", v, held.stamp.ResourceVersion)
	}
	return s.updateLocked(held, object)
}

// Put creates an object, or overwrites what is there whatever its version and identity: the
// short way to arrange a test. It returns the object as it is stored.
func (s *Source[T]) Put(object T) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.history.Get(listwatch.KeyOf(object)); held != nil {
		return s.updateLocked(held, object)
	}
	return s.createLocked(object)
}

// Delete removes an object and returns its last state with the version of the deletion. An
// object with finalizers stays, gets a deletion time, and is returned so; deleting it again
// changes nothing. An object that is not there is [listwatch.ErrNotFound], one that does not
// meet the preconditions [ErrConflict].
func (s *Source[T]) Delete(key listwatch.Key, p Preconditions) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	if err := s.faults.failure(VerbDelete); err != nil {
		return none, err
	}
	held := s.history.Get(key)
	if held == nil {
		return none, notFound(key)
	}
	if p.UID != "" && p.UID != held.stamp.UID {
		return none, conflict(key, "UID", p.UID, held.stamp.UID)
	}
	if p.ResourceVersion != "" && p.ResourceVersion != held.stamp.ResourceVersion {
		return none, conflict(key, "version", p.ResourceVersion, held.stamp.ResourceVersion)
	}
	if len(s.o.Finalizers(held.object)) == 0 {
		return s.removeLocked(held), nil
	}
	if !held.stamp.Deleted.IsZero() {
		return s.copyOf(held), nil
	}
	stamp := held.stamp
	stamp.Deleted = s.nowSeconds()
	return s.storeLocked(held, held.object, stamp), nil
}

// Seed adds objects as they are given, identity and deletion time included, each with a new
// version: the contents of a server that has been running. An object that is being deleted
// and has no finalizer cannot exist and is refused, as are a key that is there already and an
// empty name; then nothing of that call is added.
func (s *Source[T]) Seed(objects ...T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[listwatch.Key]bool, len(objects))
	for _, object := range objects {
		key := listwatch.KeyOf(object)
		if err := s.creatableLocked(key); err != nil {
			return err
		}
		if seen[key] {
			return alreadyExists(key)
		}
		seen[key] = true
		if !s.o.Deleted(object).IsZero() && len(s.o.Finalizers(object)) == 0 {
			return Status(422, fmt.Sprintf("%q is being deleted but has no finalizers", key))
		}
	}
	for _, object := range objects {
		stamp := Stamp{UID: s.uid(object), Created: s.nowSeconds(), Deleted: s.o.Deleted(object)}
		if stamp.UID == "" {
			stamp.UID = s.newUIDLocked()
		}
		s.storeLocked(nil, object, stamp)
	}
	return nil
}

func (s *Source[T]) creatableLocked(key listwatch.Key) error {
	if key.Name == "" {
		return Status(422, "name is required")
	}
	if s.history.Get(key) != nil {
		return alreadyExists(key)
	}
	return nil
}

func (s *Source[T]) createLocked(object T) (T, error) {
	if err := s.creatableLocked(listwatch.KeyOf(object)); err != nil {
		var none T
		return none, err
	}
	return s.storeLocked(nil, object, Stamp{UID: s.newUIDLocked(), Created: s.nowSeconds()}), nil
}

func (s *Source[T]) updateLocked(held *state[T], object T) (T, error) {
	if !held.stamp.Deleted.IsZero() {
		old, wanted := s.o.Finalizers(held.object), s.o.Finalizers(object)
		for _, f := range wanted {
			if !slices.Contains(old, f) {
				var none T
				return none, Status(422, fmt.Sprintf("%q is being deleted: finalizer %q cannot be added", held.key, f))
			}
		}
		if len(wanted) == 0 {
			s.removeLocked(held)
			return s.stamp(object, held.stamp), nil
		}
	}
	if same := s.stamp(object, held.stamp); s.o.Equal(held.object, same) {
		return same, nil
	}
	return s.storeLocked(held, object, held.stamp), nil
}

// storeLocked makes the next version: object replaces was, which is nil for a new one.
func (s *Source[T]) storeLocked(was *state[T], object T, stamp Stamp) T {
	key := listwatch.KeyOf(object)
	version := s.history.Version() + 1
	stamp.ResourceVersion = format(version)
	now := &state[T]{key: key, path: key.String(), stamp: stamp, object: s.stamp(object, stamp)}
	s.addLocked(change[T]{Version: version, Key: key, Was: was, Now: now})
	return s.copyOf(now)
}

// removeLocked makes the next version, without held, and returns the state that is told.
func (s *Source[T]) removeLocked(held *state[T]) T {
	c := change[T]{Version: s.history.Version() + 1, Key: held.key, Was: held}
	s.addLocked(c)
	return s.lastOf(c)
}

func (s *Source[T]) addLocked(c change[T]) {
	_, c.Hidden = s.faults.take(VerbWatch, FaultDrop)
	s.history.Add(c)
	s.wakeLocked()
}

// lastOf returns what is told of an object that c took away: its contents from before, with
// the version of the change.
func (s *Source[T]) lastOf(c change[T]) T {
	stamp := c.Was.stamp
	stamp.ResourceVersion = format(c.Version)
	return s.stamp(c.Was.object, stamp)
}

func (s *Source[T]) newUIDLocked() string {
	s.uids++
	return fmt.Sprintf("uid-%d", s.uids)
}

// nowSeconds is the time as objects carry it.
func (s *Source[T]) nowSeconds() time.Time { return s.o.Clock.Now().UTC().Truncate(time.Second) }
