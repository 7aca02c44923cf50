// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit/shop/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// TestInitialObjects_N86 compares what is stored before the server starts with what the server stores when the same is applied.
func TestInitialObjects_N86(t *testing.T) {
	definitions, err := crd.Load(crds.FS)
	must(t, err)
	prepared := startServer(t, Config{Initial: func() ([]runtime.Object, error) {
		first, err := crd.Prepared(crds.FS)
		must(t, err)
		second, err := crd.Prepared(crds.FS) // of another provider with the same kinds
		return append(first, second...), err
	}})
	applied := startServer(t, Config{})
	for _, s := range []*Server{prepared, applied} {
		report, err := crd.Apply(t.Context(), s.RESTConfig(), definitions...)
		must(t, err)
		if want := s == prepared; (len(report.Unchanged) == len(definitions)) != want {
			t.Errorf("all definitions are up to date: got %v, want %v: %v", !want, want, report)
		}
		must(t, crd.Protect(t.Context(), s.RESTConfig(), crds.FS))
	}
	for _, list := range []client.ObjectList{&apiextensionsv1.CustomResourceDefinitionList{}, &admissionv1.ValidatingAdmissionPolicyList{},
		&admissionv1.ValidatingAdmissionPolicyBindingList{}} {
		got, want := listed(t, prepared, list), listed(t, applied, list)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "CreationTimestamp"),
			cmpopts.IgnoreTypes(metav1.Time{}, &metav1.Time{})); diff != "" || len(want) == 0 {
			t.Errorf("initial %T, -applied +got:\n%s", list, diff)
		}
	}
}

// listed returns the objects of a kind without the fields that controllers of the server manage.
func listed(t *testing.T, s *Server, list client.ObjectList) []runtime.Object {
	t.Helper()
	must(t, newClient(t, s.RESTConfig()).List(t.Context(), list))
	objects, err := meta.ExtractList(list)
	must(t, err)
	for _, o := range objects {
		m := o.(client.Object)
		m.SetManagedFields(m.GetManagedFields()[:1])
	}
	return objects
}
