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
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
)

func scripts() map[string]scenario.Script[*stage] {
	return map[string]scenario.Script[*stage]{
		"connect (R297, R301)": {Given: func(s *stage) {
			item := s.newItem(nil)
			s.create(item, s.newTarget(nil))
			s.publish(item)
		}, Then: func(s *stage) error { return s.checkConnected("kube") }, Requests: 4},
		"rename (K73)": {Given: func(s *stage) {
			target, _ := s.connected(nil)
			s.edit(target, func() { target.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		}, Then: func(s *stage) error {
			if s.secret("kube") != nil {
				return fmt.Errorf("the former copy is there")
			}
			return s.checkConnected("renamed")
		}, Requests: 5},
		"follow with a copy that is immutable (R306)": {Given: func(s *stage) {
			s.connected(nil)
			to := s.secret("kube")
			s.edit(to, func() { to.Data["kubeconfig"], to.Immutable = []byte("outdated"), new(true) })
		}, Then: func(s *stage) error { return s.checkConnected("kube") }, Requests: 3},
		"withdraw (N27)": {Given: func(s *stage) {
			_, item := s.connected(nil)
			s.edit(item, func() { item.Annotations = nil })
		}, Then: func(s *stage) error {
			s.wantState(xpv1.ReasonNotAllowed)
			return s.checkNothing()
		}, Requests: 3},
		"delete (R302)": {Given: func(s *stage) {
			target, _ := s.connected(nil)
			s.delete(target)
		}, Then: func(s *stage) error {
			if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
				return fmt.Errorf("the target is there")
			}
			return s.checkNothing()
		}, Requests: 3},
	}
}

func (s *stage) checkConnected(name string) error {
	s.t.Helper()
	s.wantState(xpv1.ReasonAvailable)
	return s.checkAgreed(name)
}

// Wherever the process crashes, and whichever answer is lost, the next one finishes the work: nothing is left over, and nothing is
// forgotten.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for name, script := range scripts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.NewWithScheme(t, newScheme(t))
			script.Run(t, func() *stage { return stageIn(t, env) })
		})
	}
}

// Restart satisfies scenario.World.
func (s *stage) Restart(p *fault.Process) { s.restart(fault.InterceptWrites(s.env.Config, p.Request)) }

// Settle satisfies scenario.World.
func (s *stage) Settle() {
	for range 4 {
		_, _ = s.tryPass() // a crashed process has errors
	}
}

// Close satisfies scenario.World.
func (s *stage) Close() { s.strike() }
