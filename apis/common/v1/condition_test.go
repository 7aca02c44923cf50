// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

func TestConditionLiterals(t *testing.T) {
	for name, tc := range map[string]struct {
		got    v1.Condition
		typ    string
		status corev1.ConditionStatus
		reason string
	}{
		"R180 Available":        {v1.Available(), "Ready", "True", "Available"},
		"R181 Creating":         {v1.Creating(), "Ready", "False", "Creating"},
		"R182 Deleting":         {v1.Deleting(), "Ready", "False", "Deleting"},
		"R183 Unavailable":      {v1.Unavailable(), "Ready", "False", "Unavailable"},
		"R184 ReconcileSuccess": {v1.ReconcileSuccess(), "Synced", "True", "ReconcileSuccess"},
		"R185 ReconcileError":   {v1.ReconcileError(errors.New("boom")), "Synced", "False", "ReconcileError"},
		"R186 ReconcilePaused":  {v1.ReconcilePaused(), "Synced", "False", "ReconcilePaused"},
		"R187 Unknown":          {v1.Unknown(errors.New("boom")), "Unknown", "False", "Unknown"},
		"R188 Finished":         {v1.AsyncOperationFinished(), "AsyncOperation", "True", "Finished"},
		"R189 Ongoing":          {v1.AsyncOperationOngoing(), "AsyncOperation", "True", "Ongoing"},
		"R190 Success":          {v1.LastAsyncOperationSuccess(), "LastAsyncOperation", "True", "Success"},
		"R191 ApplyFailure":     {v1.LastAsyncOperationApplyFailure(errors.New("boom")), "LastAsyncOperation", "False", "ApplyFailure"},
		"R192 DestroyFailure":   {v1.LastAsyncOperationDestroyFailure(errors.New("boom")), "LastAsyncOperation", "False", "DestroyFailure"},
		"P81 Drifted":           {v1.Drifted("size"), "InSync", "False", "Drifted"},
		"P81 InSync":            {v1.InSync(), "InSync", "True", "AsDeclared"},
	} {
		if string(tc.got.Type) != tc.typ || tc.got.Status != tc.status || string(tc.got.Reason) != tc.reason {
			t.Errorf("%s: got %+v", name, tc.got)
		}
	}
	if got := v1.ReconcileError(errors.New("boom")).Message; got != "boom" {
		t.Errorf("R196 message is %q", got)
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
	none := v1.ConditionedStatus{}
	want := v1.Condition{Type: v1.TypeReady, Status: corev1.ConditionUnknown}
	if diff := cmp.Diff(want, none.GetCondition(v1.TypeReady)); diff != "" {
		t.Errorf("an absent condition is unknown -want +got:\n%s", diff)
	}
}
