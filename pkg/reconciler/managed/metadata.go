// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// detachedTime bounds writes that must not be cut short when a pass or the process ends.
const detachedTime = 20 * time.Second

// detach returns a context for writing down what was done outside: it outlives the end of the pass.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTime)
}

// writeMetadata stores what change does to the metadata, if anything. The write is refused if somebody else wrote to
// the object since we read it. Spec and status in memory stay as they are.
func (r *Reconciler) writeMetadata(ctx context.Context, mg resource.Managed, change func(metav1.Object)) error {
	base, ok := mg.DeepCopyObject().(resource.Managed)
	if !ok {
		return fmt.Errorf("%T does not copy to its own type", mg)
	}
	changed := base.DeepCopyObject().(resource.Managed)
	change(changed)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, changed, patch); err != nil {
		return err
	}
	takeMetadata(changed, mg)
	return nil
}

func takeMetadata(from, to resource.Managed) {
	to.SetResourceVersion(from.GetResourceVersion())
	to.SetAnnotations(from.GetAnnotations())
	to.SetLabels(from.GetLabels())
	to.SetFinalizers(from.GetFinalizers())
	to.SetOwnerReferences(from.GetOwnerReferences())
	to.SetDeletionTimestamp(from.GetDeletionTimestamp())
	to.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
	to.SetManagedFields(from.GetManagedFields())
}

// persistence is how often, and how patiently, the result of a creation is written against conflicts and passing
// errors (R93): losing it may mean to lose the external resource.
var persistence = wait.Backoff{Steps: 8, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// recordResult stores the result of the creation that this pass began. If somebody wrote to the object meanwhile it
// is read afresh and the result added; moved is then true, since the pass no longer knows the object as it is. If
// somebody else began another creation the result is not ours to record.
func (r *Reconciler) recordResult(ctx context.Context, mg resource.Managed, change func(metav1.Object)) (moved bool, err error) {
	ctx, cancel := detach(ctx)
	defer cancel()
	pending := meta.GetExternalCreatePending(mg)
	target := mg
	err = retry.OnError(persistence, worthRepeating, func() error {
		err := r.writeMetadata(ctx, target, change)
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh := r.newManaged()
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(mg), fresh); err != nil {
			return err
		}
		if fresh.GetUID() != mg.GetUID() || !meta.GetExternalCreatePending(fresh).Equal(pending) {
			return errOvertaken
		}
		target, moved = fresh, true
		return err
	})
	if err == nil && moved {
		takeMetadata(target, mg)
	}
	return moved, err
}

var errOvertaken = fmt.Errorf("another process began to create the external resource")

func worthRepeating(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || outcomeUnknown(err)
}
