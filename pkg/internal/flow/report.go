// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
)

// An Object has conditions.
type Object interface {
	client.Object
	SetConditions(c ...xpv1.Condition)
	GetCondition(t xpv1.ConditionType) xpv1.Condition
}

// Set sets a condition, stamped with the generation of the object. before is the condition at the start of the pass: one
// that changed within the pass and is the same at its end keeps its transition time (R195).
func Set(o Object, c, before xpv1.Condition) {
	c.ObservedGeneration = o.GetGeneration()
	if Same(c, before) {
		c.LastTransitionTime = before.LastTransitionTime
		o.SetConditions(xpv1.Condition{Type: c.Type})
	}
	o.SetConditions(c)
}

// Same is true for conditions that differ in generation and time at most.
func Same(a, b xpv1.Condition) bool { return a.WithObservedGeneration(b.ObservedGeneration).Equal(b) }

// States returns conditions Stalled and Reconciling of an object.
func States(o Object) []xpv1.Condition {
	return []xpv1.Condition{o.GetCondition(xpv1.TypeStalled), o.GetCondition(xpv1.TypeReconciling)}
}

// SetState sets conditions Stalled and Reconciling, of which at most one is True: state, or none if that is the zero
// condition. One that was never True is not added. before are the States at the start of the pass, see Set.
func SetState(o Object, state xpv1.Condition, before []xpv1.Condition) {
	for _, was := range before {
		switch {
		case state.Type == was.Type:
			Set(o, state, was)
		case was.Status == corev1.ConditionTrue, o.GetCondition(was.Type).Status == corev1.ConditionTrue:
			Set(o, xpv1.Resolved(was.Type), was)
		}
	}
}

// Report writes the status of an object as change leaves it, guarded by the resource version; nothing if nothing changed.
func Report(ctx context.Context, c client.Client, o Object, change func()) (written bool, err error) {
	before := o.DeepCopyObject().(client.Object)
	change()
	if equality.Semantic.DeepEqual(before, o) {
		return false, nil
	}
	if err := c.Status().Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("writing status: %w", err)
	}
	return true, nil
}

// Emit emits events. One that cannot be recorded, for example because its namespace is being deleted, fails nothing (N32).
func Emit(ctx context.Context, to event.Recorder, log logr.Logger, about client.Object, events ...event.Event) {
	for _, e := range events {
		if err := to.Event(ctx, about, e); err != nil {
			log.Info("Cannot record event", "object", client.ObjectKeyFromObject(about), "reason", e.Reason, "error", err.Error())
		}
	}
}
