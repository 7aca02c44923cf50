// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// What the copy of a claim has that those of targets have not.
func TestClaimSecrets(t *testing.T) {
	t.Parallel()
	runClaims(t, map[string]func(*claimStage){
		"a claim that names no Secret gets none (R278)": func(s *claimStage) {
			claim, _ := s.bound(func(c *shop.ItemClaim) { c.Spec.WriteConnectionSecretToReference = nil })
			if own := s.ownedBy(claim); len(own) > 0 {
				s.t.Errorf("it has %v", own)
			}
		},
		"nor does one that names none any more (R278)": func(s *claimStage) {
			claim, item := s.bound(nil)
			s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference = nil })
			s.pass()
			if to := meta.PropagatesTo(s.source(item)); len(to) > 0 || s.secret("orders-connection") != nil {
				s.t.Errorf("the source consents to %v", to)
			}
			s.isBound("orders")
		},
		"it has the keys that the claim derives from the beginning, and keeps them with what the source lost (R270, N42)": func(s *claimStage) {
			_, item := s.bound(func(c *shop.ItemClaim) { setTemplates(c, `{"LOGIN": "$(username):$(password)"}`) })
			s.edit(item, func() { connection.SetCreatedKeys(item, []string{"password"}) })
			for range 2 {
				s.holds("orders-connection", map[string]string{"username": "admin", "password": "hunter2", "LOGIN": "admin:hunter2"})
				s.publish(item, map[string]string{"username": "root"})
				s.pass()
			}
		},
		"a mistake in derived keys is reported, and blocks nothing else (R282, N51)": func(s *claimStage) {
			claim, _ := s.bound(nil)
			s.edit(claim, func() { claim.Annotations[connection.AnnotationKeyConnectionKeys] = `{"URL": "$(nothing)"}` })
			for range 2 {
				s.pass()
				s.wantState("orders", "Bound", failure.BadConnectionKeys, xpv1.ReasonReconcileError)
				if failed := xpv1.FailureOf(s.claimOf("orders")); failed.Reason != failure.BadConnectionKeys || !failed.Stalled {
					s.t.Errorf("the failure is %+v", failed)
				}
			}
			s.wantEvents(event.Reason(failure.BadConnectionKeys))
			s.holds("orders-connection", map[string]string{"username": "admin", "password": "hunter2"})
			s.edit(claim, func() { claim.Annotations[connection.AnnotationKeyConnectionKeys] = `{"LOGIN": "$(username)"}` })
			s.pass()
			s.isBound("orders")
		},
		"a copy that was taken gets nothing of another claim (R274)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.takeCopy(item, func() {
				s.edit(item, func() { s.toClaim("again")(item) })
				s.create(s.newClaim("again", static(item.Name)))
				s.passOf("again")
			})
		},
		"a copy that was taken gets nothing that an administrator takes back (N27)": func(s *claimStage) {
			_, item := s.bound(nil)
			s.takeCopy(item, func() {
				s.edit(item, func() { item.Spec.ClaimReference = nil })
				s.pass()
			})
		},
		"the copy of a target stays as long as the claim (R306)": func(s *claimStage) {
			claim, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			source, to := s.source(item), s.connectionSecret("target", nil)
			to.OwnerReferences = []metav1.OwnerReference{{ // in a version that the garbage collector does not know
				APIVersion: "workload.crossplane.io/v0", Kind: "KubernetesTarget", Name: "target", UID: "target", Controller: new(true)}}
			meta.AllowPropagationFrom(to, source)
			s.create(to)
			s.edit(source, func() { meta.AllowPropagationTo(source, to) })
			s.pass()
			if !meta.PropagationAllowed(s.source(item), to) {
				s.t.Error("consent to it was revoked")
			}
			s.delete(claim)
			s.pass()
			if meta.PropagationAllowed(s.source(item), to) {
				s.t.Error("consent to it outlives the claim")
			}
		},
	})
}

// takeCopy takes the copy from its claim, and checks that it gets nothing more once the claim lost the item.
func (s *claimStage) takeCopy(item *shop.Item, lose func()) {
	s.t.Helper()
	taken := s.secret("orders-connection")
	s.edit(taken, func() { disown(taken) })
	lose()
	if source := s.source(item); meta.PropagationAllowed(source, taken) {
		s.t.Errorf("the source consents to %v", meta.PropagatesTo(source))
	}
}

// A person deletes the source while all controllers run.
func TestLostSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.once = true
	w.start(setUp)
	w.create(w.newClass(nil), w.newClaim("orders", nil))
	w.shown("orders", xpv1.ReasonAvailable)
	reports := func(part string) {
		t.Helper()
		w.Eventually(t, "the claim reports "+part, func(context.Context) error {
			if got := w.claimOf("orders").GetCondition(xpv1.TypeReady); !strings.Contains(string(got.Reason)+" "+got.Message, part) {
				return fmt.Errorf("it reports %s: %s", got.Reason, got.Message)
			}
			return nil
		})
	}
	t.Run("the copy keeps it, and claim and managed resource report it (R208, R270, R271, N22, N42)", func(t *testing.T) {
		w.delete(w.source(w.item()))
		reports("lost password")
		w.wantConditions(w.claimOf("orders"), xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		if got := w.text("orders-connection")["password"]; got != "of "+w.item().Name {
			t.Errorf("the copy has password %q", got)
		}
		w.Eventually(t, "the managed resource reports it", func(context.Context) error {
			if failed := xpv1.FailureOf(w.item()); failed.Reason != failure.ConnectionDetailsLost {
				return fmt.Errorf("it reports %+v", failed)
			}
			return nil
		})
	})
	t.Run("a key that is added to the source repairs all (R284, N22)", func(t *testing.T) {
		source := w.source(w.item())
		w.edit(source, func() { source.Data["password"] = []byte("reset") })
		w.shown("orders", xpv1.ReasonAvailable)
		w.isCopy("orders-connection", w.claimOf("orders"), w.item())
	})
}
