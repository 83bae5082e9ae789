package deltafifo

import (
	"errors"
	"fmt"
)

const defaultLimit = 65_536

// Options change how a [DeltaFIFO] works. The zero value is ready to use.
type Options struct {
	// Limit is how many deltas beyond the first of each key may be queued before writers wait.
	// A batch is taken whole once there is room, so it may be passed by one batch a writer.
	// Must not be negative. Defaults to 65,536.
	Limit int
}

func (o Options) withDefaults() Options {
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	return o
}

func (o Options) validate() error {
	var faults []error
	if o.Limit < 0 {
		faults = append(faults, fmt.Errorf("negative Limit %d", o.Limit))
	}
	return errors.Join(faults...)
}
