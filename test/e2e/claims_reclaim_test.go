// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// classes returns a class of each provider, for the claims of a namespace that say which server they want.
func (m *market) classes(namespace string, policy xpv1.ReclaimPolicy) map[string]resource.Class {
	labels := func(server string) map[string]string { return map[string]string{"for": namespace, "server": server} }
	all := map[string]resource.Class{
		"own":    plane.FavouriteClass(namespace, vault, labels("own")),
		"shared": plane.TenantClass(namespace, vault, labels("shared")),
	}
	for _, class := range all {
		class.SetReclaimPolicy(policy)
	}
	return all
}

// retained deletes a claim with reclaim policy Retain: its data can be read with the old password, and by another claim once an
// administrator allows that.
func retained(t *testing.T, m *market) {
	namespace, _ := m.place(t, "retained")
	heirs, _ := m.place(t, "heirs")
	for server, class := range m.classes(namespace, xpv1.ReclaimRetain) {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			m.Create(t, class)
			claim := postgres(namespace, server, class.GetLabels())
			m.Create(t, claim)
			b := m.bound(t, claim)
			m.remove(t, claim)
			m.released(t, b)
			if err := application(t.Context(), b.Copy.Data, "tea"); err != nil {
				t.Errorf("with the old password: %v (R279)", err)
			}
			heir := m.inherited(t, heirs, b)
			patch(t, m.Plane, b.Managed, `{"spec":{"reclaimPolicy":"Delete"}}`)
			m.remove(t, heir)
			m.nothingLeft(t, b)
		})
	}
}

// inherited binds the released managed resource to another claim, once an administrator allows that.
func (m *market) inherited(t *testing.T, namespace string, b *inspect.Binding) resource.Claim {
	t.Helper()
	heir := postgres(namespace, b.Copy.Name, nil)
	gvk, err := m.Client.GroupVersionKindFor(b.Managed)
	if err != nil {
		t.Fatal(err)
	}
	heir.SetResourceReference(&corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: b.Managed.GetName()})
	m.Create(t, heir)
	patch(t, m.Plane, b.Managed, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyAllowedNamespaces, namespace))
	m.waits(t, heir, xpv1.ReasonNotAllowed)
	patch(t, m.Plane, b.Managed, `{"spec":{"claimRef":null}}`)
	again := m.bound(t, heir)
	if again.Managed.GetUID() != b.Managed.GetUID() {
		t.Errorf("the new claim got %s, want %s", again.Managed.GetName(), b.Managed.GetName())
	}
	if err := application(t.Context(), again.Copy.Data, "tea"); err != nil {
		t.Errorf("the new claim reads what the old one left: %v", err)
	}
	return heir
}

// released waits until what a claim left is kept for an administrator: the managed resource names the claim still, its Secret
// goes on to nobody, and the claim's is gone.
func (m *market) released(t *testing.T, b *inspect.Binding) {
	t.Helper()
	m.Eventually(t, within, b.Managed.GetName()+" is released", func(ctx context.Context) error {
		mg, source := b.Managed.DeepCopyObject().(resource.BindableManaged), &corev1.Secret{}
		err := errors.Join(m.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg), m.Client.Get(ctx, client.ObjectKeyFromObject(b.Source), source))
		if err != nil {
			return err
		}
		if mg.GetBindingPhase() != xpv1.BindingPhaseReleased || mg.GetClaimReference() == nil || len(meta.PropagatesTo(source)) > 0 {
			return fmt.Errorf("it is %q, names %v, and its Secret is copied to %v", mg.GetBindingPhase(), mg.GetClaimReference(),
				meta.PropagatesTo(source))
		}
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(b.Copy), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the claim's Secret: %w", err)
		}
		return nil
	})
}

// deletedWithAll deletes claims with reclaim policy Delete, and one without a policy.
func deletedWithAll(t *testing.T, m *market) {
	namespace, _ := m.place(t, "deleted")
	silent, _ := m.place(t, "silent")
	for name, policy := range map[string]xpv1.ReclaimPolicy{namespace: xpv1.ReclaimDelete, silent: ""} {
		for server, class := range m.classes(name, policy) {
			t.Run(name+" "+server, func(t *testing.T) {
				t.Parallel()
				m.Create(t, class)
				claim := postgres(name, server, class.GetLabels())
				m.Create(t, claim)
				b := m.bound(t, claim)
				if b.Managed.GetReclaimPolicy() != xpv1.ReclaimDelete {
					t.Errorf("reclaim policy %q is written down (N4)", b.Managed.GetReclaimPolicy())
				}
				m.remove(t, claim)
				m.nothingLeft(t, b)
			})
		}
	}
}
