// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// Operations on a claim; prepare happens in good health.
var operations = map[string]struct {
	prepare func(*stage)
	check   func(*stage) error
	writes  int // at least, of a clean run
}{
	"provision": {prepare: func(s *stage) { s.create(s.newClass(nil), s.newClaim("orders", nil)) }, check: (*stage).checkBound, writes: 8},
	"provision from a class with a limit": {prepare: func(s *stage) {
		s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Claims.Max = new(int64(1)) }), s.newClaim("orders", nil))
	}, check: (*stage).checkBound, writes: 9},
	"bind": {prepare: func(s *stage) {
		s.create(s.newClass(nil), s.newClaim("orders", nil))
		s.pass()
	}, check: (*stage).checkBound, writes: 5},
	"bind what exists": {prepare: func(s *stage) {
		item := s.newItem("legacy", s.toNamespace)
		s.create(item, s.newClaim("orders", s.static(item.Name)))
	}, check: (*stage).checkBound, writes: 7},
	"propagate": {prepare: func(s *stage) {
		claim, _ := s.bound(nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
	}, check: (*stage).checkBound, writes: 4},
	"release": {prepare: func(s *stage) {
		_, item := s.bound(nil)
		s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		s.delete(s.claimOf("orders"))
	}, check: (*stage).checkReleased, writes: 3},
	"delete": {prepare: func(s *stage) {
		s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Claims.Max = new(int64(1)) }), s.newClaim("orders", nil))
		s.settle()
		s.delete(s.claimOf("orders"))
	}, check: (*stage).checkGone, writes: 3},
	"delete while it is provisioned": {prepare: func(s *stage) { s.unreferred(); s.delete(s.claimOf("orders")) },
		check: (*stage).checkGone, writes: 2},
	"unbind from what existed": {prepare: func(s *stage) { s.boundStatic(""); s.delete(s.claimOf("orders")) },
		check: (*stage).checkReleased, writes: 3},
}

// Wherever the process dies, and whichever answer is lost, the next pass finishes the work: one managed resource for the claim,
// nothing leaked, nothing forgotten (N11, R268).
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for name, operation := range operations {
		t.Run("N11 R268 "+name, func(t *testing.T) {
			t.Parallel()
			env, clean := controlplanetest.NewWithScheme(t, newScheme(t)), &fault.Process{}
			live(t, env, name, clean)
			if len(clean.Requests()) < operation.writes {
				t.Fatalf("a clean run did only %v", clean.Requests())
			}
			for point := 1; point <= len(clean.Requests()); point++ {
				for _, how := range []fault.Kind{fault.CrashBefore, fault.CrashAfter, fault.AnswerLost} {
					live(t, env, name, &fault.Process{At: fault.Point{N: point}, Kind: how})
				}
			}
		})
	}
}

// live does an operation in a process of the given life and, if that ends, in another one. It checks what is left.
func live(t *testing.T, env *controlplanetest.Env, operation string, life *fault.Process) {
	t.Helper()
	s := stageIn(t, env)
	defer s.strike()
	operations[operation].prepare(s)
	s.restart(fault.InterceptWrites(s.env.Config, life.Request))
	s.settle()
	if life.Crashed() {
		s.restart(s.env.Config)
		s.settle()
	}
	if err := operations[operation].check(s); err != nil {
		t.Errorf("cut at %d of %v (it %s): %v", life.At.N, life.Requests(), life.Kind, err)
	}
}

// settle lets the reconciler and the controller of managed resources work until all is quiet.
func (s *stage) settle() {
	s.t.Helper()
	for range 5 {
		_, _ = s.tryPass("orders") // a dying process has no one to tell
		for _, item := range s.items() {
			if item.Status.BindingPhase == "" && !meta.WasDeleted(&item) && s.claimed() {
				s.ready(&item, "hunter2")
			}
		}
	}
}

// claimed is true while the claim of the stage is not being deleted: only then the test serves what is made for it.
func (s *stage) claimed() bool {
	claim := &shop.ItemClaim{}
	return s.get("orders", claim) && !meta.WasDeleted(claim)
}

func (s *stage) checkBound() error {
	claim, items := s.claimOf("orders"), s.items()
	if len(items) != 1 {
		return fmt.Errorf("there are %d managed resources", len(items))
	}
	item := items[0]
	if of := item.Spec.ClaimReference; of == nil || of.UID != claim.UID || item.Status.BindingPhase != xpv1.BindingPhaseBound {
		return fmt.Errorf("the managed resource has claimRef %v, phase %q", of, item.Status.BindingPhase)
	}
	if ref := claim.Spec.ResourceReference; ref == nil || ref.Name != item.Name {
		return fmt.Errorf("the claim has resourceRef %v, not %s", ref, item.Name)
	}
	s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	if got := meta.GetExternalName(claim); got != "item-0815" {
		return fmt.Errorf("the claim shows external name %q", got)
	}
	s.agreed(claim.Spec.WriteConnectionSecretToReference.Name, claim, &item)
	if own := s.copies(claim); len(own) != 1 {
		return fmt.Errorf("the claim has Secrets %v", own)
	}
	return nil
}

func (s *stage) checkReleased() error {
	items := s.items()
	if s.get("orders", &shop.ItemClaim{}) || len(items) != 1 {
		return fmt.Errorf("the claim is there, or of %d managed resources there should be 1", len(items))
	}
	if phase := items[0].Status.BindingPhase; phase != xpv1.BindingPhaseReleased {
		return fmt.Errorf("the managed resource's phase is %q", phase)
	}
	source := &corev1.Secret{}
	if !s.get(items[0].Spec.WriteConnectionSecretToReference.Name, source) || len(meta.PropagatesTo(source)) > 0 {
		return fmt.Errorf("the Secret of what was kept is gone, or goes on to %v", meta.PropagatesTo(source))
	}
	return nil
}

func (s *stage) checkGone() error {
	class := &shop.ItemClass{}
	s.get(s.class, class)
	if s.get("orders", &shop.ItemClaim{}) || len(s.items()) > 0 || class.Annotations[claimbinding.AnnotationKeyClaims] != "" {
		return fmt.Errorf("the claim is there, or %d managed resources, or the class counts %s", len(s.items()),
			class.Annotations[claimbinding.AnnotationKeyClaims])
	}
	return nil
}

// copies are the names of the Secrets that the claim controls.
func (s *stage) copies(claim *shop.ItemClaim) (names []string) {
	s.t.Helper()
	list := &corev1.SecretList{}
	if err := s.env.Client.List(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	for _, secret := range list.Items {
		if metav1.IsControlledBy(&secret, claim) {
			names = append(names, secret.Name)
		}
	}
	slices.Sort(names)
	return names
}
