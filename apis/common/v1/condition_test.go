// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

func TestConditionLiterals(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, tc := range map[string]struct {
		got     v1.Condition
		typ     string
		status  corev1.ConditionStatus
		reason  string
		message string
	}{
		"A7 R180 Available":            {v1.Available(), "Ready", "True", "Available", ""},
		"A7 R181 Creating":             {v1.Creating(), "Ready", "False", "Creating", ""},
		"A7 R182 Deleting":             {v1.Deleting(), "Ready", "False", "Deleting", ""},
		"A11 R183 Unavailable":         {v1.Unavailable(), "Ready", "False", "Unavailable", ""},
		"A11 R184 ReconcileSuccess":    {v1.ReconcileSuccess(), "Synced", "True", "ReconcileSuccess", ""},
		"A11 R185 R196 ReconcileError": {v1.ReconcileError(boom), "Synced", "False", "ReconcileError", "boom"},
		"A11 R186 ReconcilePaused":     {v1.ReconcilePaused(), "Synced", "False", "ReconcilePaused", ""},
		"A11 R187 Unknown":             {v1.Unknown(boom), "Unknown", "False", "Unknown", "boom"},
		"A11 R188 Finished":            {v1.AsyncOperationFinished(), "AsyncOperation", "True", "Finished", ""},
		"A11 R189 Ongoing":             {v1.AsyncOperationOngoing(), "AsyncOperation", "True", "Ongoing", ""},
		"A11 R190 Success":             {v1.LastAsyncOperationSuccess(), "LastAsyncOperation", "True", "Success", ""},
		"A11 R191 ApplyFailure":        {v1.LastAsyncOperationApplyFailure(boom), "LastAsyncOperation", "False", "ApplyFailure", "boom"},
		"A11 R192 DestroyFailure":      {v1.LastAsyncOperationDestroyFailure(boom), "LastAsyncOperation", "False", "DestroyFailure", "boom"},
		"P81 Drifted":                  {v1.Drifted("size"), "InSync", "False", "Drifted", "size"},
		"P81 InSync":                   {v1.InSync(), "InSync", "True", "AsDeclared", ""},
		"Stalled":                      {v1.Stalled("QuotaExceeded", "full"), "Stalled", "True", "QuotaExceeded", "full"},
		"Reconciling":                  {v1.Reconciling("QuotaExceeded", "full"), "Reconciling", "True", "QuotaExceeded", "full"},
		"resolved":                     {v1.Resolved(v1.TypeStalled), "Stalled", "False", "Resolved", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := v1.Condition{
				Type: v1.ConditionType(tc.typ), Status: tc.status, Reason: v1.ConditionReason(tc.reason), Message: tc.message,
				LastTransitionTime: tc.got.LastTransitionTime,
			}
			if diff := cmp.Diff(want, tc.got); diff != "" || tc.got.LastTransitionTime.IsZero() {
				t.Errorf("at %s -want +got:\n%s", tc.got.LastTransitionTime, diff)
			}
		})
	}
}

func TestSetConditions(t *testing.T) {
	long := metav1.NewTime(time.Unix(1000, 0))
	old := v1.Available().WithObservedGeneration(1)
	old.LastTransitionTime = long
	cases := map[string]struct {
		set       v1.Condition
		keepsTime bool
	}{
		"R195 the same again":         {set: v1.Available().WithObservedGeneration(1), keepsTime: true},
		"R195 for a new generation":   {set: v1.Available().WithObservedGeneration(2), keepsTime: true},
		"R195 another message":        {set: v1.Available().WithObservedGeneration(1).WithMessage("well"), keepsTime: false},
		"R194 another status, reason": {set: v1.Deleting(), keepsTime: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := v1.ConditionedStatus{Conditions: []v1.Condition{v1.ReconcileSuccess(), old}}
			s.SetConditions(tc.set)
			got := s.GetCondition(v1.TypeReady)
			if !got.Equal(tc.set) || len(s.Conditions) != 2 {
				t.Errorf("got %+v", s.Conditions)
			}
			if kept := got.LastTransitionTime.Equal(&long); kept != tc.keepsTime {
				t.Errorf("transition time kept: %t, want %t", kept, tc.keepsTime)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	t.Run("R193 R194 types of a provider's own stand beside the others", func(t *testing.T) {
		s := v1.ConditionedStatus{}
		replicated := v1.Condition{Type: "Replicated", Status: corev1.ConditionTrue, Reason: "AllZones"}
		s.SetConditions(v1.Available(), replicated)
		s.SetConditions(v1.Deleting())
		if got := s.GetCondition("Replicated"); !got.Equal(replicated) || len(s.Conditions) != 2 {
			t.Errorf("got %+v", s.Conditions)
		}
	})
	t.Run("R196 R194 recovery clears the message", func(t *testing.T) {
		s := v1.ConditionedStatus{}
		s.SetConditions(v1.ReconcileError(fmt.Errorf("observing: %w", errors.New("boom"))))
		if got := s.GetCondition(v1.TypeSynced).Message; got != "observing: boom" {
			t.Errorf("the message is %q", got)
		}
		s.SetConditions(v1.ReconcileSuccess())
		if got := s.GetCondition(v1.TypeSynced); got.Message != "" || got.Status != corev1.ConditionTrue {
			t.Errorf("after recovery it is %+v", got)
		}
	})
	t.Run("A10 absent is unknown", func(t *testing.T) {
		want := v1.Condition{Type: v1.TypeReady, Status: corev1.ConditionUnknown}
		if diff := cmp.Diff(want, (&v1.ConditionedStatus{}).GetCondition(v1.TypeReady)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestFailureOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		conditions []v1.Condition
		want       v1.CurrentFailure
	}{
		"none":     {nil, v1.CurrentFailure{}},
		"resolved": {[]v1.Condition{v1.Resolved(v1.TypeStalled), v1.Resolved(v1.TypeReconciling)}, v1.CurrentFailure{}},
		"stalled": {[]v1.Condition{v1.Resolved(v1.TypeReconciling), v1.Stalled("InvalidSettings", "too big")},
			v1.CurrentFailure{Reason: "InvalidSettings", Message: "too big", Stalled: true}},
		"retried": {[]v1.Condition{v1.Reconciling("InternalError", ""), v1.Resolved(v1.TypeStalled)}, v1.CurrentFailure{Reason: "InternalError"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := v1.FailureOf(&v1.ConditionedStatus{Conditions: tc.conditions}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
