// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"fmt"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

// An operation on a target; prepare happens in good health.
type operation struct {
	prepare func(*stage)
	check   func(*stage) error
	writes  int // at least, of a clean run
}

func operations() map[string]operation {
	return map[string]operation{
		"R297 R301 connect": {prepare: func(s *stage) {
			item := s.newItem(nil)
			s.create(item, s.newTarget(nil))
			s.publish(item)
		}, check: func(s *stage) error { return s.checkConnected("kube") }, writes: 4},
		"K73 rename": {prepare: func(s *stage) {
			target, _ := s.connected(nil)
			s.edit(target, func() { target.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		}, check: func(s *stage) error {
			if s.secret("kube") != nil {
				return fmt.Errorf("the former copy is there")
			}
			return s.checkConnected("renamed")
		}, writes: 5},
		"R306 follow with a copy that is immutable": {prepare: func(s *stage) {
			s.connected(nil)
			to := s.secret("kube")
			s.edit(to, func() { to.Data["kubeconfig"], to.Immutable = []byte("outdated"), new(true) })
		}, check: func(s *stage) error { return s.checkConnected("kube") }, writes: 3},
		"N27 withdraw": {prepare: func(s *stage) {
			_, item := s.connected(nil)
			s.edit(item, func() { item.Annotations = nil })
		}, check: func(s *stage) error {
			s.wantState(xpv1.ReasonNotAllowed)
			return s.checkNothing()
		}, writes: 3},
		"R302 delete": {prepare: func(s *stage) {
			target, _ := s.connected(nil)
			s.delete(target)
		}, check: func(s *stage) error {
			if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
				return fmt.Errorf("the target is there")
			}
			return s.checkNothing()
		}, writes: 3},
	}
}

func (s *stage) checkConnected(name string) error {
	s.t.Helper()
	s.wantState(xpv1.ReasonAvailable)
	return s.checkAgreed(name)
}

// Wherever the process dies, and whichever answer is lost, the next one finishes the work: nothing is left over, and nothing is
// forgotten.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for name, op := range operations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, clean := controlplanetest.NewWithScheme(t, newScheme(t)), &fault.Process{}
			live(t, env, op, clean)
			if len(clean.Requests()) < op.writes {
				t.Fatalf("a clean run did only %v", clean.Requests())
			}
			for point := 1; point <= len(clean.Requests()); point++ {
				for _, how := range []fault.Kind{fault.CrashBefore, fault.CrashAfter, fault.AnswerLost} {
					live(t, env, op, &fault.Process{At: fault.Point{N: point}, Kind: how})
				}
			}
		})
	}
}

// live does an operation in a process of the given life and, if that ends, in another one. It checks what is left.
func live(t *testing.T, env *controlplanetest.Env, op operation, life *fault.Process) {
	t.Helper()
	s := stageIn(t, env)
	defer s.strike()
	op.prepare(s)
	s.restart(fault.InterceptWrites(s.env.Config, life.Request))
	s.settle()
	if life.Crashed() {
		s.restart(s.env.Config)
		s.settle()
	}
	if err := op.check(s); err != nil {
		t.Errorf("cut at %d of %v (it %s): %v", life.At.N, life.Requests(), life.Kind, err)
	}
}

// settle lets the reconciler work until all is quiet.
func (s *stage) settle() {
	for range 4 {
		_, _ = s.tryPass() // a dying process has no one to tell
	}
}
