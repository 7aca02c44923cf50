// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/terraform"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// A start of the control plane keeps the rights that the controllers have given themselves on kinds of Terraform providers.
func TestRightsOfTerraformKindsStay(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	all, err := Identities([]provider.Provider{terraform.Provider(&controller.Options{})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var own []*unstructured.Unstructured
	for _, o := range all {
		if o.GetKind() == "ClusterRole" && o.GetName() == controller.RoleName {
			o.SetName(env.Prefix + "rights")
			own = append(own, o)
		}
	}
	role, granted := &rbacv1.ClusterRole{}, []rbacv1.PolicyRule{{APIGroups: []string{"reef.tf.bowline.dev"}, Resources: []string{"*"}, Verbs: []string{"get"}}}
	role.Name = env.Prefix + "rights"
	t.Cleanup(func() { _ = env.Client.Delete(context.Background(), role) })
	for start := range 2 {
		if err := applyIdentities(t.Context(), env.Config, own); err != nil {
			t.Fatal(err)
		}
		if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil {
			t.Fatal(err)
		}
		if start > 0 {
			break
		}
		before := role.DeepCopy()
		role.Rules = granted
		if err := env.Client.Patch(t.Context(), role, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(granted, role.Rules); diff != "" {
		t.Errorf("rights -want +got:\n%s", diff)
	}
}
