// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// readHistory finds the last step and the last error.
func (q *inquiry) readHistory() {
	events, access := q.cluster.Events(q.ctx, q.object)
	if access == inspect.NoAccess {
		q.Notes = append(q.Notes, "You may not read its events, which have more information about the last hour.")
	}
	var normal, warning *corev1.Event
	for i := range events {
		if events[i].Type == corev1.EventTypeWarning {
			warning = &events[i]
		} else {
			normal = &events[i]
		}
	}
	q.LastStep = q.lastStep(normal)
	q.LastError = q.lastError(warning)
}

// lastStep is the latest of the times that the object records, and of the last event. Times have a precision of one second: of
// several steps within one second the last in the list counts.
func (q *inquiry) lastStep(last *corev1.Event) *Happening {
	steps := []Happening{
		{At: q.object.GetCreationTimestamp().Time, Message: "The object was created."},
		{At: meta.GetExternalCreatePending(q.object), Message: "Creation of the external resource started."},
		{At: meta.GetExternalCreateFailed(q.object), Message: "Creation of the external resource failed."},
		{At: meta.GetExternalCreateSucceeded(q.object), Message: "The external resource was created."},
	}
	switch q.ready.Status {
	case corev1.ConditionTrue:
		steps = append(steps, Happening{At: q.ready.LastTransitionTime.Time, Message: "It became ready."})
	case corev1.ConditionFalse:
		steps = append(steps, Happening{At: q.ready.LastTransitionTime.Time, Message: fmt.Sprintf("It became not ready (%s).", q.ready.Reason)})
	}
	if at := q.object.GetDeletionTimestamp(); at != nil {
		steps = append(steps, Happening{At: at.Time, Message: "Its deletion was requested."})
	}
	if last != nil {
		steps = append(steps, Happening{At: inspect.When(*last), Reason: last.Reason, Message: last.Message})
	}
	var latest Happening
	for _, s := range steps {
		if !s.At.IsZero() && !s.At.Before(latest.At) {
			latest = s
		}
	}
	latest.At = latest.At.UTC()
	return &latest
}

// lastError is the current failure, else that of the last warning.
func (q *inquiry) lastError(last *corev1.Event) *Happening {
	if !q.failing() {
		if last == nil || last.Reason == string(q.ready.Reason) { // the reason why a claim waits is no error, but a cause
			return nil
		}
		return &Happening{At: inspect.When(*last).UTC(), Reason: last.Reason, Message: last.Message, Over: true}
	}
	now := &Happening{At: q.synced.LastTransitionTime.UTC(), Reason: string(q.failure.Reason), Message: q.synced.Message}
	if last != nil && !inspect.When(*last).Before(now.At) { // the failure was reported again
		now.At, now.Reason = inspect.When(*last).UTC(), cmp.Or(now.Reason, last.Reason)
	}
	now.Reason = cmp.Or(now.Reason, string(q.synced.Reason))
	return now
}
