// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// recall finds the last step and the last error.
func (q *inquiry) recall() {
	events, access := q.cluster.Events(q.ctx, q.object)
	if access == inspect.NoAccess {
		q.Notes = append(q.Notes, "You may not read its events, which would tell more of what happened within the last hour.")
	}
	var normal, bad *corev1.Event
	for i := range events {
		if events[i].Type == corev1.EventTypeWarning {
			bad = &events[i]
		} else {
			normal = &events[i]
		}
	}
	q.LastStep = q.lastStep(normal)
	q.LastError = q.lastError(events, bad)
}

// lastStep is what was done last: of what objects remember, and of an event if there is one. Times have the precision of a
// second; of several steps within one the later in the list counts.
func (q *inquiry) lastStep(last *corev1.Event) *Happening {
	steps := []Happening{
		{At: q.object.GetCreationTimestamp().Time, Message: "The object was made."},
		{At: meta.GetExternalCreatePending(q.object), Message: "The creation of the external resource began."},
		{At: meta.GetExternalCreateFailed(q.object), Message: "The creation of the external resource failed."},
		{At: meta.GetExternalCreateSucceeded(q.object), Message: "The external resource was created."},
	}
	if q.ready.Status != corev1.ConditionUnknown && q.ready.Reason != "" {
		steps = append(steps, Happening{At: q.ready.LastTransitionTime.Time, Message: became(q.ready)})
	}
	if at := q.object.GetDeletionTimestamp(); at != nil {
		steps = append(steps, Happening{At: at.Time, Message: "Its deletion was asked for."})
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

func became(ready xpv1.Condition) string {
	if ready.Status == corev1.ConditionTrue {
		return "It became ready."
	}
	return fmt.Sprintf("It became not ready (%s).", ready.Reason)
}

// lastError is the error that the object speaks of now, or that of the last warning.
func (q *inquiry) lastError(events []corev1.Event, last *corev1.Event) *Happening {
	if !q.failing() {
		if last == nil || q.says(last.Message, q.ready.Message) {
			return nil // what a claim waits for is no error, and is told as what is in the way
		}
		return &Happening{At: inspect.When(*last).UTC(), Reason: last.Reason, Message: last.Message, Over: true}
	}
	now := &Happening{At: q.synced.LastTransitionTime.UTC(), Reason: reasonOf(q.synced.Message), Message: q.synced.Message}
	for _, e := range events {
		if e.Type == corev1.EventTypeWarning && q.says(e.Message, q.synced.Message) {
			now.Reason, now.At = e.Reason, inspect.When(e).UTC()
		}
	}
	if now.Reason == "" && q.synced.Message == q.ready.Message {
		now.Reason = string(q.ready.Reason)
	}
	if now.Reason == "" {
		now.Reason = string(q.synced.Reason)
	}
	return now
}

// says is true if an event has the words of a condition, as far as an event can hold them.
func (q *inquiry) says(event, condition string) bool {
	begun, cut := strings.CutSuffix(event, "...")
	return event == condition || cut && begun != "" && strings.HasPrefix(condition, begun)
}
