// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// What happens to a claim, and what holds then.
var claimScripts = map[string]scenario.Script[*claimStage]{
	"provision and bind, with a class that has a limit (N11, R268)": {Given: func(s *claimStage) { s.create(s.limited(1), s.newClaim("orders", nil)) },
		Then: (*claimStage).checkBound, Requests: 9},
	"bind what exists": {Given: func(s *claimStage) {
		item := s.newItem("legacy", s.toNamespace)
		s.create(item, s.newClaim("orders", static(item.Name)))
	}, Then: (*claimStage).checkBound, Requests: 7},
	"propagate": {Given: func(s *claimStage) {
		claim, _ := s.bound(nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
	}, Then: (*claimStage).checkBound, Requests: 4},
	"release": {Given: func(s *claimStage) {
		_, item := s.bound(nil)
		s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		s.delete(s.claimOf("orders"))
	}, Then: (*claimStage).checkReleased, Requests: 3},
	"replace by the file of the author (N52)": {Given: func(s *claimStage) {
		s.bound(nil)
		s.replace(func(claim *shop.ItemClaim) { claim.Spec.ClassReference = nil })
		claim := s.claimOf("orders")
		s.edit(claim, func() { claim.Finalizers = nil }) // which this API server keeps, and others do not
	}, Then: (*claimStage).checkBound, Requests: 2},
	"delete": {Given: func(s *claimStage) {
		s.create(s.limited(1), s.newClaim("orders", nil))
		s.pass()
		s.ready(s.item())
		s.pass()
		s.delete(s.claimOf("orders"))
	}, Then: (*claimStage).checkGone, Requests: 4},
	"delete while it is provisioned": {Given: func(s *claimStage) { s.unreferred(); s.delete(s.claimOf("orders")) },
		Then: (*claimStage).checkGone, Requests: 3},
	"keep what a claim with data left (N56)": {Given: func(s *claimStage) {
		s.options = append(s.options, claimbinding.WithData(true))
		_, item := s.bound(nil)
		s.hold(item)
		s.tear("orders")
	}, Then: (*claimStage).checkReleased, Requests: 2},
	"unbind from what existed": {Given: func(s *claimStage) { s.boundStatic(""); s.delete(s.claimOf("orders")) },
		Then: (*claimStage).checkReleased, Requests: 3},
}

// Wherever the process crashes, and whichever answer is lost, the next reconcile finishes the work: one managed resource for the
// claim, nothing leaked, nothing forgotten (N11, R268).
func TestClaimCrashPoints(t *testing.T) {
	t.Parallel()
	runScripts(t, claimScripts, func(of *stage) *claimStage { return claimStageOn(of) })
}

// Settle satisfies scenario.World: the binder and the controller of managed resources work, which serves claims that live.
func (s *claimStage) Settle() {
	s.t.Helper()
	s.settle("orders", func() (worked bool) {
		claim := &shop.ItemClaim{}
		if !s.get("orders", claim) || meta.WasDeleted(claim) {
			return false
		}
		for _, item := range s.items() {
			if item.Status.BindingPhase == "" && !meta.WasDeleted(&item) {
				s.ready(&item)
				worked = true
			}
		}
		return worked
	})
}

func (s *claimStage) checkBound() error {
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
	s.isBound("orders")
	if !meta.FinalizerExists(claim, claimbinding.Finalizer) {
		return errors.New("the claim has no finalizer")
	}
	if got := meta.GetExternalName(claim); got != "item-0815" {
		return fmt.Errorf("the claim shows external name %q", got)
	}
	s.isCopy(claim.Spec.WriteConnectionSecretToReference.Name, claim, &item)
	if own := s.ownedBy(claim); len(own) != 1 {
		return fmt.Errorf("the claim has Secrets %v", own)
	}
	return nil
}

func (s *claimStage) checkReleased() error {
	items := s.items()
	if s.get("orders", &shop.ItemClaim{}) || len(items) != 1 {
		return fmt.Errorf("the claim exists, or of %d managed resources there should be 1", len(items))
	}
	if phase := items[0].Status.BindingPhase; phase != xpv1.BindingPhaseReleased {
		return fmt.Errorf("the managed resource's phase is %q", phase)
	}
	if source := s.source(&items[0]); source == nil || len(meta.PropagatesTo(source)) > 0 {
		return fmt.Errorf("the Secret of what was kept is gone, or consents to copies: %v", source)
	}
	return nil
}

func (s *claimStage) checkGone() error {
	if s.get("orders", &shop.ItemClaim{}) || len(s.items()) > 0 || s.places() != "" {
		return fmt.Errorf("the claim exists, or %d managed resources, or the class counts %s", len(s.items()), s.places())
	}
	return nil
}

// places is what the class lists of the claims that use it.
func (s *claimStage) places() string {
	s.t.Helper()
	class := &shop.ItemClass{}
	s.get(s.class, class)
	return class.Annotations[claimbinding.AnnotationKeyClaims]
}

// ownedBy returns the names of the Secrets that an object controls.
func (s *stage) ownedBy(o client.Object) (names []string) {
	s.t.Helper()
	list := &corev1.SecretList{}
	if err := s.Client.List(s.t.Context(), list, client.InNamespace(s.Namespace)); err != nil {
		s.t.Fatal(err)
	}
	for _, secret := range list.Items {
		if metav1.IsControlledBy(&secret, o) {
			names = append(names, secret.Name)
		}
	}
	return names
}
