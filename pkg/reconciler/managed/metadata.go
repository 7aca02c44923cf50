// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"maps"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// detachedTime bounds writes that must not be cut short when a pass or the process ends.
const detachedTime = 20 * time.Second

// detach returns a context for writing down what was done outside: it outlives the end of the pass.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), detachedTime)
}

// writeMetadata stores what change does to the metadata, and what steps did to the spec, in one write. It is refused if
// another writer wrote to the object since it was read. Spec and status in memory stay as they are.
func (r *Reconciler) writeMetadata(ctx context.Context, p *pass, change func(metav1.Object)) error {
	now, err := treeOf(p.managed)
	if err != nil {
		return err
	}
	base, err := p.withSpec(now, p.stored)
	if err != nil {
		return err
	}
	changed, err := p.withSpec(now, p.spec)
	if err != nil {
		return err
	}
	change(changed)
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, changed, patch); err != nil {
		return err
	}
	p.takeMetadata(changed)
	p.stored = p.spec
	return nil
}

// persistence is how often, and how patiently, the result of a creation is written against conflicts and passing
// errors, ten seconds in all (R93): losing it may mean to lose the external resource.
var persistence = wait.Backoff{Steps: 11, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// recordResult stores the result of the creation that this pass began. If another writer wrote to the object meanwhile, it is
// read afresh and the result added; the pass then no longer knows the object as it is, and is overtaken. If another process
// began another creation, the result is not ours to record.
func (r *Reconciler) recordResult(ctx context.Context, p *pass, change func(metav1.Object)) error {
	ctx, cancel := detach(ctx)
	defer cancel()
	pending := meta.GetExternalCreatePending(p.managed)
	target, stored := p.managed, p.annotations
	return retry.OnError(persistence, isRetriable, func() error {
		base := target.DeepCopyObject().(resource.Managed)
		base.SetAnnotations(maps.Clone(stored))
		written, err := objects.Patch(ctx, r.client, base, func(mg resource.Managed) { change(mg) })
		if err == nil {
			p.takeMetadata(written)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh := r.newManaged()
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(p.managed), fresh); err != nil {
			return err
		}
		if fresh.GetUID() != p.managed.GetUID() || meta.GetExternalCreatePending(fresh).After(pending) {
			return errOvertaken
		}
		target, stored, p.overtaken = fresh, fresh.GetAnnotations(), true
		return err
	})
}

// isRetriable is true for errors of the API server that may pass.
func isRetriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		errors.Is(err, syscall.ECONNREFUSED) || failure.IsAnswerLost(err)
}
