// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
)

// Reasons why a deleted ProviderConfig still exists: of condition Ready, which is False, and of an event.
const (
	// ReasonInUse: objects use it. The message names some of them.
	ReasonInUse = "InUse"
	// ReasonUsersUnknown: it is unknown whether objects use it.
	ReasonUsersUnknown = "UsersUnknown"
	// ReasonCannotRelease: no object uses it, but a finalizer cannot be removed.
	ReasonCannotRelease = "CannotRelease"
)

// notReady makes settle report why a deleted ProviderConfig still exists.
func (p *pass) notReady(reason xpv1.ConditionReason, message string) {
	p.ready = xpv1.Condition{
		Type: xpv1.TypeReady, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: metav1.Now(), ObservedGeneration: p.config.GetGeneration(),
	}
}

// settle writes status and event, and chooses when to requeue.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	if o.End != flow.Conflict && o.End != flow.Gone {
		delay, err := r.report(ctx, p)
		if client.IgnoreNotFound(err) != nil {
			o = flow.Written("", errors.Join(o.Err, err))
		}
		if delay > 0 && o.Err == nil && (o.After == 0 || delay < o.After) {
			o = flow.Await(delay, "")
		}
	}
	return o.Result(o.After)
}

// report writes the status if it changed, and emits an event if the reason did. The number of users alone is written at most
// once per interval, so that a thousand new users do not cause a thousand writes; delay is how much of it is left.
func (r *Reconciler) report(ctx context.Context, p *pass) (delay time.Duration, err error) {
	before := p.config.GetCondition(xpv1.TypeReady)
	known := p.ready.Type == "" || p.ready.Equal(before)
	if rest := time.Until(p.state.reported.Add(countInterval)); known && rest > 0 && p.config.GetUsers() != p.users {
		return rest, nil
	}
	written, err := flow.Report(ctx, r.client, p.config, func() {
		p.config.SetUsers(p.users)
		if !known {
			p.config.SetConditions(p.ready)
		}
	})
	if !written || err != nil {
		return 0, err
	}
	p.state.reported = time.Now()
	if !known && p.ready.Reason != before.Reason {
		flow.Emit(ctx, r.recorder, r.log, p.config, event.Warning(event.Reason(p.ready.Reason), errors.New(p.ready.Message)))
	}
	return 0, nil
}
