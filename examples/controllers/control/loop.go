package control

import (
	"context"
	"errors"

	"github.com/seed3bce33ad/listwatch"
	"github.com/seed3bce33ad/listwatch/informer"
	"github.com/seed3bce33ad/listwatch/workqueue"
)

// Workers is how many keys a controller works on at a time.
const Workers = 8

// Input is an informer whose changes lead to keys of a controller. Make one with [Of].
type Input struct {
	enqueue func(context.Context, *workqueue.Queue[listwatch.Key]) error
	sync    func(context.Context) error
}

// Of returns the input that adds to the queue what keys returns for whatever changes. A nil keys stands for the
// object's own key.
func Of[T listwatch.Object](i *informer.Informer[T], keys func(T) []listwatch.Key) Input {
	return Input{func(ctx context.Context, q *workqueue.Queue[listwatch.Key]) error {
		if keys == nil {
			_, err := informer.Enqueue(ctx, i, q)
			return err
		}
		_, err := informer.EnqueueOf(ctx, i, q, keys)
		return err
	}, i.WaitForSync}
}

// NewQueue returns the work queue of a controller, which lives by the time and tells failures to the logger of env.
func NewQueue(env Env, name string) *workqueue.Queue[listwatch.Key] {
	return workqueue.New[listwatch.Key](workqueue.Options{Name: name, Clock: env.Clock, Logger: env.Logger})
}

// Loop returns the controller that calls step for the keys of q once the caches of all inputs are filled.
func Loop(q *workqueue.Queue[listwatch.Key], step func(context.Context, listwatch.Key) (workqueue.Result, error), inputs ...Input) Controller {
	return Controller{Name: q.Name(), Run: func(ctx context.Context) error {
		defer q.Close()
		for _, in := range inputs {
			if err := in.enqueue(ctx, q); err != nil {
				return errors.Join(err, context.Cause(ctx))
			}
		}
		for _, in := range inputs {
			if err := in.sync(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		return workqueue.Process(ctx, q, Workers, step)
	}}
}
