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
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// What happens to a claim, and what holds then.
var scripts = map[string]scenario.Script[*stage]{
	"provision": {Given: func(s *stage) { s.create(s.newClass(nil), s.newClaim("orders", nil)) }, Then: (*stage).checkBound, Requests: 8},
	"provision from a class with a limit": {Given: func(s *stage) {
		s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Claims.Max = new(int64(1)) }), s.newClaim("orders", nil))
	}, Then: (*stage).checkBound, Requests: 9},
	"bind": {Given: func(s *stage) {
		s.create(s.newClass(nil), s.newClaim("orders", nil))
		s.pass()
	}, Then: (*stage).checkBound, Requests: 5},
	"bind what exists": {Given: func(s *stage) {
		item := s.newItem("legacy", s.toNamespace)
		s.create(item, s.newClaim("orders", s.static(item.Name)))
	}, Then: (*stage).checkBound, Requests: 7},
	"propagate": {Given: func(s *stage) {
		claim, _ := s.bound(nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
	}, Then: (*stage).checkBound, Requests: 4},
	"release": {Given: func(s *stage) {
		_, item := s.bound(nil)
		s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		s.delete(s.claimOf("orders"))
	}, Then: (*stage).checkReleased, Requests: 3},
	"delete": {Given: func(s *stage) {
		s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Claims.Max = new(int64(1)) }), s.newClaim("orders", nil))
		s.Settle()
		s.delete(s.claimOf("orders"))
	}, Then: (*stage).checkGone, Requests: 3},
	"delete while it is provisioned": {Given: func(s *stage) { s.unreferred(); s.delete(s.claimOf("orders")) },
		Then: (*stage).checkGone, Requests: 2},
	"unbind from what existed": {Given: func(s *stage) { s.boundStatic(""); s.delete(s.claimOf("orders")) },
		Then: (*stage).checkReleased, Requests: 3},
}

// Wherever the process crashes, and whichever answer is lost, the next reconcile finishes the work: one managed resource for the
// claim, nothing leaked, nothing forgotten (N11, R268).
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for name, script := range scripts {
		t.Run(name+" (N11, R268)", func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.NewWithScheme(t, newScheme(t))
			script.Run(t, func() *stage { return stageIn(t, env) })
		})
	}
}

// Restart satisfies scenario.World.
func (s *stage) Restart(p *fault.Process) { s.restart(fault.InterceptWrites(s.env.Config, p.Request)) }

// Settle satisfies scenario.World: the binder and the controller of managed resources work.
func (s *stage) Settle() {
	s.t.Helper()
	for range 5 {
		_, _ = s.tryPass("orders") // a crashed process has errors
		for _, item := range s.items() {
			if item.Status.BindingPhase == "" && !meta.WasDeleted(&item) && s.claimed() {
				s.ready(&item, "hunter2")
			}
		}
	}
}

// Close satisfies scenario.World.
func (s *stage) Close() { s.strike() }

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
