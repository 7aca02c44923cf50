// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

// Without consent the copy is deleted, and what may have been made of it gets no more content.
func TestConsentIsWithdrawn(t *testing.T) {
	t.Parallel()
	runOn(t, newTargetStage, map[string]func(*targetStage){
		"the copy goes, and the source forgets it (N27)": func(s *targetStage) {
			_, item := s.connected()
			s.edit(item, func() { item.Annotations = nil })
			s.pass()
			s.wantState(xpv1.ReasonNotAllowed, "does not allow namespace", "bowline.dev/allowed-namespaces")
			s.hasNothing()
			s.wantEvents(target.ReasonWithdrawn, "NotAllowed")
			s.edit(item, func() { s.toNamespace(item) })
			s.pass()
			if err := s.checkAgreed("kube"); err != nil {
				s.t.Error(err)
			}
		},
		"also where the source lost a key of it (N27, N22)": func(s *targetStage) {
			_, item := s.connected()
			s.edit(item, func() { connection.SetCreatedKeys(item, []string{"kubeconfig"}) })
			s.stage.publish(item, map[string]string{"other": "x"})
			s.pass()
			s.edit(item, func() { delete(item.Annotations, meta.AnnotationKeyAllowedNamespaces) })
			s.pass()
			s.hasNothing()
		},
		"a copy that was taken from the target is forgotten too (N27, R289)": func(s *targetStage) {
			_, item := s.connected()
			to := s.secret("kube")
			s.edit(to, func() { to.OwnerReferences = nil })
			s.edit(item, func() { item.Annotations = nil })
			s.pass()
			s.wantState(xpv1.ReasonNotAllowed)
			if going := meta.PropagatesTo(s.secret("hidden-source")); len(going) > 0 {
				s.t.Errorf("it is copied to %v", going)
			}
		},
		"another managed resource of the same name has to consent anew (N27)": func(s *targetStage) {
			_, item := s.connected()
			s.delete(item)
			s.Eventually(s.t, "its Secret is gone", func(context.Context) error {
				if s.secret("hidden-source") != nil {
					return errors.New("the garbage collector has not come yet")
				}
				return nil
			})
			again := s.newItem(func(i *shop.Item) { i.Annotations = nil })
			s.create(again)
			s.publish(again)
			s.pass()
			s.wantState(xpv1.ReasonNotAllowed)
			if s.secret("kube") != nil {
				s.t.Error("the copy of the former one is there")
			}
		},
	})
}

// A cache that is behind decides nothing: neither does anything go on that the API server forbids, nor is anything taken away that
// it allows.
func TestCacheIsBehind(t *testing.T) {
	t.Parallel()
	runOn(t, newTargetStage, map[string]func(*targetStage){
		"nothing is copied any more (N27)": func(s *targetStage) {
			item := s.published()
			s.cached = item.DeepCopy()
			s.edit(item, func() { item.Annotations = nil })
			if result := s.pass(); result.RequeueAfter == 0 || s.secret("kube") != nil {
				s.t.Errorf("a copy: %t, comes back %+v", s.secret("kube") != nil, result)
			}
			s.cached = nil
			s.pass()
			s.wantState(xpv1.ReasonNotAllowed)
		},
		"nothing is copied again (N27)": func(s *targetStage) {
			_, item := s.connected()
			s.cached = item.DeepCopy()
			s.edit(item, func() { item.Annotations = nil })
			from := s.secret("hidden-source")
			s.edit(from, func() { from.Annotations = nil })
			if result := s.pass(); result.RequeueAfter == 0 || len(meta.PropagatesTo(s.secret("hidden-source"))) > 0 {
				s.t.Errorf("the source is copied to %v, comes back %+v", meta.PropagatesTo(s.secret("hidden-source")), result)
			}
		},
		"nothing is taken away (N27)": func(s *targetStage) {
			_, item := s.connected()
			s.cached = item.DeepCopy()
			s.cached.Annotations = nil
			if result := s.pass(); result.RequeueAfter == 0 {
				s.t.Errorf("comes back %+v", result)
			}
			if err := s.checkAgreed("kube"); err != nil {
				s.t.Error(err)
			}
		},
	})
}
