package fakes

import (
	"maps"
	"slices"
	"time"

	"github.com/seed3bce33ad/listwatch"
)

// Object is a ready-made object for tests, used by pointer. Like any object it must not be
// changed once it is shared; the zero value lacks a name. It can be sent as JSON.
type Object struct {
	listwatch.Meta `json:"metadata"`
	// Labels are what a test selects by.
	Labels map[string]string `json:"labels,omitempty"`
	// Finalizers keep the object after its deletion was asked for.
	Finalizers []string `json:"finalizers,omitempty"`
	// Created is when the server took the object.
	Created time.Time `json:"created,omitzero"`
	// Deleted is when the deletion was asked for; zero: it was not.
	Deleted time.Time `json:"deleted,omitzero"`
	// Value is the contents.
	Value string `json:"value,omitempty"`
}

// Clone returns a deep copy. An empty map or slice becomes a nil one, as it does on the way
// through a server.
func (o *Object) Clone() *Object {
	c := *o
	c.Labels, c.Finalizers = nil, nil
	if len(o.Labels) > 0 {
		c.Labels = maps.Clone(o.Labels)
	}
	if len(o.Finalizers) > 0 {
		c.Finalizers = slices.Clone(o.Finalizers)
	}
	return &c
}

// StampObject is the stamp function of [Object] for [New].
func StampObject(o *Object, s Stamp) *Object {
	o = o.Clone()
	o.UID, o.ResourceVersion = s.UID, s.ResourceVersion
	o.Created, o.Deleted = s.Created, s.Deleted
	return o
}

// ObjectFinalizers returns the finalizers of an [Object], for [Options.Finalizers].
func ObjectFinalizers(o *Object) []string { return o.Finalizers }

// ObjectDeleted returns the deletion time of an [Object], for [Options.Deleted].
func ObjectDeleted(o *Object) time.Time { return o.Deleted }
