// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"errors"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// The mark of a taken resource is kept by Save, read by other processes, and ended by Own.
func TestTake(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustSave(t, complete())
	want := complete()
	want.TakenBy = state.Owner{Object: "Berth c", UID: "uid-of-c"}
	if err := s.after(t, s.Config).Take(t.Context(), s.object.GetUID(), want.TakenBy); err != nil {
		t.Fatal(err)
	}
	s = s.after(t, s.Config)
	s.wantState(t, want)
	s.mustSave(t, complete())
	s.wantStored(t, want)
	if o := s.secret(t).Annotations[state.AnnotationKeyObject]; o != "/b" {
		t.Errorf("the state is of %s", o)
	}
	if err := s.Own(t.Context(), s.object, berths, want); err != nil {
		t.Fatal(err)
	}
	s.wantStored(t, complete())
	if err := s.Take(t.Context(), "uid-without-state", want.TakenBy); err != nil {
		t.Error(err)
	}
}

// existing is the stage with an object that the API server has.
func (s stage) existing(t *testing.T) stage {
	t.Helper()
	s.object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	s.object.SetNamespace(s.Namespace)
	if err := s.Client.Create(t.Context(), s.object); err != nil {
		t.Fatal(err)
	}
	return s
}

// An answer is not given to an object that only is about to create something of that name.
func TestOther(t *testing.T) {
	t.Parallel()
	owned := complete()
	owned.Tainted = false
	for name, tc := range map[string]struct {
		state         *state.State
		all, withMade bool
	}{
		"it has it":     {owned, true, true},
		"it creates it": {&state.State{Place: owned.Place, Creating: "journal-1", ImportID: "berth-1"}, true, false},
		"elsewhere":     {&state.State{Place: state.Place{Type: "reef_berth", System: "sea", Config: "other"}, Name: "berth-1", Value: owned.Value}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t).existing(t)
			s.mustSave(t, tc.state)
			for made, want := range map[bool]bool{false: tc.all, true: tc.withMade} {
				got, err := s.Other(t.Context(), "another", owned.Place, made, "", "berth-1")
				if err != nil || (got.UID == string(s.object.GetUID())) != want {
					t.Errorf("%v and %v, with a resource: %t", got, err, made)
				}
			}
		})
	}
}

// A state that could not be stored yet has an owner, until the mark of an object that takes the resource is stored.
func TestUnstoredOwners(t *testing.T) {
	t.Parallel()
	s, away := newStage(t).existing(t), atomic.Bool{}
	s = s.after(t, fault.InterceptWrites(s.Config, func(string) (refuse, lose error) {
		if away.Load() {
			return errAway, nil
		}
		return nil, nil
	}))
	want, uid := complete(), s.object.GetUID()
	s.mustSave(t, &state.State{Place: want.Place, Creating: "journal-1"})
	has := func(owned, creates bool) {
		t.Helper()
		owner, err := s.Other(t.Context(), "another", want.Place, false, "berth-1")
		if err != nil || (owner.UID == string(uid)) != owned {
			t.Errorf("its owner is %v, %v", owner, err)
		}
		if creators, err := s.Creators(t.Context(), "another", want.Place); err != nil || len(creators) > 0 != creates {
			t.Errorf("it is created by %v, %v", creators, err)
		}
	}
	has(false, true)
	away.Store(true)
	if err := s.save(t.Context(), want); !errors.Is(err, errAway) {
		t.Fatalf("Save returns %v", err)
	}
	has(true, false)
	want.TakenBy = state.Owner{Object: "Berth c", UID: "uid-of-c"}
	if err := s.Take(t.Context(), uid, want.TakenBy); !errors.Is(err, errAway) {
		t.Errorf("Take returns %v", err)
	}
	has(true, false)
	away.Store(false)
	if err := s.Take(t.Context(), uid, want.TakenBy); err != nil {
		t.Fatal(err)
	}
	has(false, false)
	s.wantStored(t, want)
}
