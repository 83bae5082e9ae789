package registry

import (
	"context"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// Admission is a write that is about to be done, completed but not yet checked.
type Admission struct {
	Target
	// Verb is "create", "update" or "delete".
	Verb string
	// Object is what is to be stored. It may be changed. It is nil for a delete.
	Object kinds.Object
	// Old is what is there, and must not be changed. It is nil for a create.
	Old kinds.Object
	// DryRun says that nothing will be stored.
	DryRun bool
}

// admit asks whether a write is to be done.
func (r *Registry) admit(ctx context.Context, a Admission) error {
	if r.options.Admit == nil {
		return nil
	}
	return r.options.Admit(ctx, a)
}
