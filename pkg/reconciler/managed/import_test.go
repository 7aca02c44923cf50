// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// The way to take over what somebody left behind: look at it first, then let the object do more.
func TestImport(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]types.UID{"of an object that is gone": "gone", "of nobody": ""} {
		t.Run("a resource "+name+" (R70, R136, N6, N24)", func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Annotations = map[string]string{meta.AnnotationKeyExternalName: "theirs"}
				mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
			})
			left := thing.Resource{Size: 9, Owner: owner}
			s.system.Resources["theirs"] = left
			s.pass()
			if have := s.system.Snapshot()["theirs"]; have.Owner != left.Owner || meta.FinalizerExists(s.thing(), managed.Finalizer) {
				t.Errorf("looking left %+v, finalizers %v", have, s.thing().Finalizers)
			}
			s.edit(func(mg *thing.Thing) { mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{"*"} })
			s.pass()
			have := s.system.Snapshot()["theirs"]
			if have.Owner != s.thing().UID || have.Size != 1 || !meta.FinalizerExists(s.thing(), managed.Finalizer) {
				t.Errorf("adopted %+v, finalizers %v, the user sees %s: %s", have, s.thing().Finalizers, s.state(), s.message())
			}
		})
	}
}
