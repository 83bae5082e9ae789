package leader

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// returnTime is how long it may take to give the lease back, in real time.
const returnTime = 5 * time.Second

// get reads the lease from the server; nil when there is none.
func (c *candidate) get(ctx context.Context) (*coordinationv1.Lease, error) {
	now, err := c.client.Get(ctx, c.key)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return now, err
}

// write makes the lease ours, on top of that version of it or, if that is nil, as a new one. It returns the lease as written.
func (c *candidate) write(ctx context.Context, on *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	now := metav1.NewMicroTime(c.Clock.Now())
	next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	if on != nil {
		next = on.DeepCopy()
	}
	spec := &next.Spec
	if ptr.Deref(spec.HolderIdentity, "") != c.Identity {
		if spec.HolderIdentity != nil {
			spec.LeaseTransitions = ptr.To(ptr.Deref(spec.LeaseTransitions, 0) + 1)
		}
		spec.HolderIdentity, spec.AcquireTime = &c.Identity, &now
	}
	spec.RenewTime = &now
	spec.LeaseDurationSeconds = ptr.To(int32((c.LeaseDuration + time.Second - 1) / time.Second))
	if on == nil {
		return c.client.Create(ctx, next)
	}
	return c.client.Update(ctx, next)
}

// giveBack lets others have the lease at once. When a renewal has come through that nobody heard of, it is that which is given
// back.
func (c *candidate) giveBack(ctx context.Context, held *coordinationv1.Lease) {
	ctx, cancel := context.WithTimeout(ctx, returnTime)
	defer cancel()
	for {
		next := held.DeepCopy()
		next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
		next.Spec.RenewTime = ptr.To(metav1.NewMicroTime(c.Clock.Now()))
		_, err := c.client.Update(ctx, next)
		if err == nil {
			c.Logger.Info("gave the lease back", "lease", c.key.String(), "identity", c.Identity)
			return
		}
		if apierrors.IsConflict(err) {
			now, readErr := c.get(ctx)
			if readErr == nil && now != nil && ptr.Deref(now.Spec.HolderIdentity, "") == c.Identity {
				held = now
				continue
			}
		}
		c.Logger.Warn("lease not given back", "lease", c.key.String(), "error", err)
		return
	}
}
