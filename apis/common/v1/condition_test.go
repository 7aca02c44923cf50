// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		"Available (A7, R180)":             {v1.Available(), "Ready", "True", "Available", ""},
		"Creating (A7, R181)":              {v1.Creating(), "Ready", "False", "Creating", ""},
		"Deleting (A7, R182)":              {v1.Deleting(), "Ready", "False", "Deleting", ""},
		"Unavailable (A11, R183)":          {v1.Unavailable(), "Ready", "False", "Unavailable", ""},
		"ReconcileSuccess (A11, R184)":     {v1.ReconcileSuccess(), "Synced", "True", "ReconcileSuccess", ""},
		"ReconcileError (A11, R185, R196)": {v1.ReconcileError(boom), "Synced", "False", "ReconcileError", "boom"},
		"ReconcilePaused (A11, R186)":      {v1.ReconcilePaused(), "Synced", "False", "ReconcilePaused", ""},
		"Unknown (A11, R187)":              {v1.Unknown(boom), "Unknown", "False", "Unknown", "boom"},
		"Finished (A11, R188)":             {v1.AsyncOperationFinished(), "AsyncOperation", "True", "Finished", ""},
		"Ongoing (A11, R189)":              {v1.AsyncOperationOngoing(), "AsyncOperation", "True", "Ongoing", ""},
		"Success (A11, R190)":              {v1.LastAsyncOperationSuccess(), "LastAsyncOperation", "True", "Success", ""},
		"ApplyFailure (A11, R191)":         {v1.LastAsyncOperationApplyFailure(boom), "LastAsyncOperation", "False", "ApplyFailure", "boom"},
		"DestroyFailure (A11, R192)":       {v1.LastAsyncOperationDestroyFailure(boom), "LastAsyncOperation", "False", "DestroyFailure", "boom"},
		"Drifted (P81)":                    {v1.Drifted("size"), "InSync", "False", "Drifted", "size"},
		"InSync (P81)":                     {v1.InSync(), "InSync", "True", "AsDeclared", ""},
		"Stalled":                          {v1.Stalled("QuotaExceeded", "full"), "Stalled", "True", "QuotaExceeded", "full"},
		"Reconciling":                      {v1.Reconciling("QuotaExceeded", "full"), "Reconciling", "True", "QuotaExceeded", "full"},
		"resolved":                         {v1.Resolved(v1.TypeStalled), "Stalled", "False", "Resolved", ""},
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
		"the same again (R195)":         {set: v1.Available().WithObservedGeneration(1), keepsTime: true},
		"for a new generation (R195)":   {set: v1.Available().WithObservedGeneration(2), keepsTime: true},
		"another message (R195)":        {set: v1.Available().WithObservedGeneration(1).WithMessage("well"), keepsTime: false},
		"another status, reason (R194)": {set: v1.Deleting(), keepsTime: false},
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

// A status with a message of any length would be refused as a whole.
func TestLongMessage(t *testing.T) {
	got := v1.Available().WithMessage(strings.Repeat("ü", 1<<20)).Message
	if len(got) > 32768 || len(got) < 32760 || !utf8.ValidString(got) || !strings.HasSuffix(got, "ü ...") {
		t.Errorf("a long message has %d bytes and ends with %q", len(got), got[len(got)-8:])
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	t.Run("types of a provider's own stand beside the others (R193, R194)", func(t *testing.T) {
		s := v1.ConditionedStatus{}
		replicated := v1.Condition{Type: "Replicated", Status: corev1.ConditionTrue, Reason: "AllZones"}
		s.SetConditions(v1.Available(), replicated)
		s.SetConditions(v1.Deleting())
		if got := s.GetCondition("Replicated"); !got.Equal(replicated) || len(s.Conditions) != 2 {
			t.Errorf("got %+v", s.Conditions)
		}
	})
	t.Run("recovery clears the message (R196, R194)", func(t *testing.T) {
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
	t.Run("the observed generation counts where both have one (N43)", func(t *testing.T) {
		is, was, later := v1.Available(), v1.Available().WithObservedGeneration(1), v1.Available().WithObservedGeneration(2)
		if !is.Equal(was) || !was.Equal(is) || was.Equal(later) || is.Equal(v1.Creating()) {
			t.Error("two conditions are compared otherwise")
		}
	})
	t.Run("statuses are equal in any order", func(t *testing.T) {
		var none *v1.ConditionedStatus
		ready, synced := v1.Available(), v1.ReconcileSuccess()
		both := v1.NewConditionedStatus(ready, synced)
		if !both.Equal(v1.NewConditionedStatus(synced, ready)) || !none.Equal(nil) || !both.Equal(both.DeepCopy()) {
			t.Error("equal statuses differ")
		}
		for _, other := range []*v1.ConditionedStatus{nil, {}, v1.NewConditionedStatus(ready), v1.NewConditionedStatus(v1.Creating(), synced),
			v1.NewConditionedStatus(ready, v1.InSync())} {
			if both.Equal(other) || other.Equal(both) {
				t.Errorf("%+v is equal to %+v", both, other)
			}
		}
	})
	t.Run("absent is unknown (A10)", func(t *testing.T) {
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
