// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

// The rights that binding needs are enough, here together with those of the managed reconciler: to make them known is why
// each is named.
func TestRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user = w.env.Prefix + "controllers"
	role := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{shop.Group}, Resources: []string{"itemclaims", "itemclasses"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{shop.Group}, Resources: []string{"itemclaims/status", "items/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{shop.Group}, Resources: []string{"items"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}},
	}}
	role.Name = w.user
	binding := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.user}}
	binding.Name = w.user
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.user}}
	w.create(role, binding)
	t.Cleanup(func() {
		for _, o := range []client.Object{binding, role} {
			if err := w.env.Client.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
	})
	w.env.InForce(t, w.user, "", role.Rules[0])
	w.start(setUp)
	t.Run("binding, another Secret, and letting go (R270, R279)", func(t *testing.T) {
		w.create(w.newClass(func(c *shop.ItemClass) {
			c.SpecTemplate.Claims.Max = new(int64(1))
			c.SpecTemplate.Claims.NamespaceSelector = &metav1.LabelSelector{}
		}), w.newClaim("orders", nil))
		w.shows("orders", xpv1.ReasonAvailable)
		claim, item := w.claimOf("orders"), w.item()
		w.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		w.gone(w.connectionSecret("orders-connection"))
		w.shows("orders", xpv1.ReasonAvailable)
		w.delete(claim)
		w.gone(claim)
		w.gone(item)
	})
}
