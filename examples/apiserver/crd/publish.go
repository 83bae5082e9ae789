package crd

import (
	"context"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/seed3bce33ad/listwatch/examples/apiserver/kinds"
)

// published are the rows that are served, by the uid of their definition. They are used by one goroutine.
type published struct {
	by map[types.UID]*defined
}

// defined is one state of a definition and its rows.
type defined struct {
	definition *Definition
	rows       []*kinds.Kind
	life       *life
}

// publish has the established kinds served, as they are defined now.
func (c *Controller) publish(ctx context.Context, all []*Definition) {
	var retired []*defined
	var table kinds.Kinds
	next := make(map[types.UID]*defined)
	for _, d := range all {
		if !is(d, apiextensionsv1.Established) {
			continue
		}
		has := c.published.by[d.UID]
		if has == nil || !has.same(d) {
			made, err := define(d)
			if err != nil {
				// It was stored by a server with other rules.
				c.options.Logger.Error("definition not served", "name", d.Name, "error", err)
				continue
			}
			has = made
		}
		if d.DeletionTimestamp != nil {
			has.life.closed.Store(true)
		}
		next[d.UID] = has
		table = append(table, has.served()...)
	}
	for uid, before := range c.published.by {
		if next[uid] != before {
			retired = append(retired, before)
		}
	}
	c.published.by = next
	c.options.Publish(table)
	for _, d := range retired {
		c.retire(ctx, d)
	}
}

// define makes the rows of a definition.
func define(d *Definition) (*defined, error) {
	l := &life{}
	l.served, l.end = context.WithCancel(context.Background())
	rows, errs := rowsOf(d, l)
	if len(errs) > 0 {
		l.end()
		return nil, errs.ToAggregate()
	}
	return &defined{d, rows, l}, nil
}

// same reports whether the rows are right for d, too.
func (has *defined) same(d *Definition) bool {
	return reflect.DeepEqual(has.definition.Spec, d.Spec) && reflect.DeepEqual(has.definition.Status.AcceptedNames, d.Status.AcceptedNames)
}

// served are the rows of the versions that are served.
func (has *defined) served() []*kinds.Kind {
	var rows []*kinds.Kind
	for i, v := range has.definition.Spec.Versions {
		if v.Served {
			rows = append(rows, has.rows[i])
		}
	}
	return rows
}

// retire ends the watches of rows that are served no more, once they can know all that has happened.
func (c *Controller) retire(ctx context.Context, d *defined) {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	for _, k := range d.rows {
		if err := c.registry.Settle(ctx, k); err != nil {
			c.options.Logger.Warn("watches end early", "kind", k.Kind, "version", k.Version, "error", err)
		}
	}
	d.life.end()
}

func (p *published) retireAll() {
	for _, d := range p.by {
		d.life.end()
	}
}
