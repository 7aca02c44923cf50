// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// While an upgrade runs, and after a rollback, controllers meet definitions and objects of the next version. They keep the fields that they do
// not know through all that they write, and do their work (N90).
func TestControllersOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	gv := schema.GroupVersion{Group: "skew.test.bowline.dev", Version: "v1"}
	next := thing.CRD()
	next.Name, next.Spec.Group = next.Spec.Names.Plural+"."+gv.Group, gv.Group
	for _, path := range [][]string{{"spec"}, {"spec", "forProvider"}, {"spec", "forProvider", "scalingConfig"}, {"status"}, {"status", "atProvider"}} {
		addColour(next.Spec.Versions[0].Schema.OpenAPIV3Schema, path)
	}
	earlier := runtime.NewScheme()
	earlier.AddKnownTypes(gv, &thing.Thing{}, &thing.ThingList{})
	metav1.AddToGroupVersion(earlier, gv)
	if err := corev1.AddToScheme(earlier); err != nil {
		t.Fatal(err)
	}
	if _, err := crd.Apply(t.Context(), controlplanetest.Config(t), next); err != nil {
		t.Fatal(err)
	}
	f := fleetOf(t, earlier)
	control(t, f.env.Config, earlier, &thing.Thing{}, f.label, managed.WithTypedExternalConnecter[*thing.Thing](f.system))

	const colour = "blue"
	spec := map[string]any{
		"colour": colour, "writeConnectionSecretToRef": map[string]any{"name": "connection", "namespace": f.env.Namespace},
		"forProvider": map[string]any{"size": int64(1), "colour": colour, "scalingConfig": []any{map[string]any{"desiredSize": int64(1), "colour": colour}}},
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(gv.WithKind("Thing"))
	o.SetName(f.env.Prefix + "next")
	o.SetLabels(maps.Clone(f.label))
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(f.env.Client.Create(t.Context(), o))
	t.Cleanup(func() { strike(f.env, o) })
	ok(f.env.Client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"status":{"colour":%q,"atProvider":{"colour":%[1]q}}}`, colour))))
	settled := func(size int64) {
		t.Helper()
		f.env.Eventually(t, "the size is that of the spec", func(ctx context.Context) error {
			if err := f.env.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedInt64(o.Object, "status", "atProvider", "size"); got != size {
				return fmt.Errorf("status.atProvider.size is %d, want %d", got, size)
			}
			return nil
		})
		want := []string{colour, colour, colour, colour, colour}
		if diff := cmp.Diff(want, colours(o.Object)); diff != "" {
			t.Errorf("fields of the next version with size %d (-want +got):\n%s%v", size, diff, o.Object)
		}
	}
	t.Run("a new object keeps them (N90)", func(*testing.T) { settled(1) })
	ok(f.env.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":{"size":2}}}`))))
	t.Run("a changed object keeps them (N90)", func(*testing.T) { settled(2) })
	remove(t, f.env, o)
}

// colours returns the values of all fields of the name.
func colours(in any) (found []string) {
	switch in := in.(type) {
	case map[string]any:
		if c, ok := in["colour"].(string); ok {
			found = append(found, c)
		}
		for _, below := range in {
			found = append(found, colours(below)...)
		}
	case []any:
		for _, item := range in {
			found = append(found, colours(item)...)
		}
	}
	return found
}

// addColour adds a field to a schema, or to the items of a list.
func addColour(s *apiextensionsv1.JSONSchemaProps, path []string) {
	if len(path) > 0 {
		below := s.Properties[path[0]]
		addColour(&below, path[1:])
		s.Properties[path[0]] = below
		return
	}
	if s.Items != nil {
		s = s.Items.Schema
	}
	s.Properties["colour"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
}
