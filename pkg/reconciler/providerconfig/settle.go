// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
)

// Reasons why a configuration that was deleted stays: of its condition Ready, which is False then, and of an event.
const (
	// ReasonInUse says that objects use it. The message names some of them.
	ReasonInUse = "InUse"
	// ReasonUsersUnknown says that it cannot be found out whether objects use it. The message says why.
	ReasonUsersUnknown = "UsersUnknown"
	// ReasonCannotRelease says that no object uses it, but that it or its Secret cannot be let go. The message says why.
	ReasonCannotRelease = "CannotRelease"
)

// An outcome is what protecting a configuration came to.
type outcome struct {
	ready xpv1.Condition // to set, unless it has no type
	after time.Duration  // when to look again, zero for not by time
	gone  bool           // the configuration was let go, and there is nothing left to write to
	err   error          // to be tried again
}

// inUse keeps the configuration because of users, and tells so if somebody wants it gone.
func (p *pass) inUse(found usage, err error, after time.Duration) outcome {
	if !p.deleted {
		return outcome{err: err}
	}
	message := fmt.Sprintf("It stays because it is in use by %s. Delete them, or let them name another one.", found)
	return outcome{ready: p.notReady(ReasonInUse, message), after: after, err: err}
}

// unknown keeps the configuration because nobody can tell whether it has users.
func (p *pass) unknown(err error, after time.Duration) outcome {
	if !p.deleted {
		return outcome{after: after}
	}
	message := "It stays because it is not known whether it is in use: " + err.Error()
	return outcome{ready: p.notReady(ReasonUsersUnknown, message), after: after}
}

// released is the end of a configuration's protection, if there was no error.
func (p *pass) released(err error, after time.Duration) outcome {
	if err == nil || !p.deleted || ignoreAbsent(err) == nil || apierrors.IsConflict(err) {
		return outcome{err: err, gone: p.deleted}
	}
	return outcome{ready: p.notReady(ReasonCannotRelease, "It is no longer in use, but cannot be let go: "+err.Error()), after: after}
}

func (p *pass) notReady(reason xpv1.ConditionReason, message string) xpv1.Condition {
	return xpv1.Condition{
		Type:               xpv1.TypeReady,
		Status:             corev1.ConditionFalse,
		LastTransitionTime: metav1.Now(),
		Reason:             reason,
		Message:            message,
		ObservedGeneration: p.config.GetGeneration(),
	}
}

// settle writes what is to be seen of the configuration, and says when to look again. The number of users alone is
// written at most once in a while, so that a thousand new users do not make a thousand writes.
func (r *Reconciler) settle(ctx context.Context, p *pass, o outcome) (reconcile.Result, error) {
	if apierrors.IsConflict(o.err) { // somebody wrote first (R17)
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	if o.gone {
		return reconcile.Result{}, ignoreAbsent(o.err)
	}
	if err := r.show(ctx, p, &o); err != nil {
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: conflictDelay}, nil
		}
		return reconcile.Result{}, errors.Join(ignoreAbsent(o.err), ignoreAbsent(err))
	}
	return reconcile.Result{RequeueAfter: o.after}, ignoreAbsent(o.err)
}

// show writes status and event if they are news.
func (r *Reconciler) show(ctx context.Context, p *pass, o *outcome) error {
	before := p.config.DeepCopyObject().(client.Object)
	was := p.config.GetCondition(xpv1.TypeReady)
	told := o.ready.Type == "" || o.ready.Equal(was)
	if told && p.config.GetUsers() == p.users {
		return nil
	}
	if rest := p.record.counted.Add(r.countInterval).Sub(r.now()); told && rest > 0 {
		o.after = earlier(rest, o.after)
		return nil
	}
	p.config.SetUsers(p.users)
	if !told {
		p.config.SetConditions(o.ready)
	}
	err := r.client.Status().Patch(ctx, p.config, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	p.record.counted = r.now()
	if !told && o.ready.Reason != was.Reason {
		r.tell(ctx, p, event.Warning(event.Reason(o.ready.Reason), errors.New(o.ready.Message)))
	}
	return nil
}

// tell emits an event. One that cannot be recorded, for example because its namespace is going away, changes nothing.
func (r *Reconciler) tell(ctx context.Context, p *pass, e event.Event) {
	if err := r.recorder.Event(ctx, p.config, e); err != nil {
		r.log.Info("Cannot record event", "object", p.key, "reason", e.Reason, "error", err.Error())
	}
}

// earlier returns the shorter of two delays, of which the second is none if it is zero.
func earlier(a, b time.Duration) time.Duration {
	if b > 0 && b < a {
		return b
	}
	return a
}
