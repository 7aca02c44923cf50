// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A kind that was learned at run time has conditions, policies and all else like any other.
func Example() {
	mg := unstructured.New(schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"})
	mg.SetDeletionPolicy(xpv1.DeletionOrphan)
	fmt.Println(resource.MayDeleteExternal(mg))
	fmt.Println(mg.Object["spec"])
	// Output:
	// false
	// map[deletionPolicy:Orphan]
}

// The managed reconciler looks after such a kind as after any other.
func ExampleNewClient() {
	setup := func(mgr manager.Manager, kind schema.GroupVersionKind, connecter managed.ExternalConnecter) *managed.Reconciler {
		return managed.NewReconciler(mgr, resource.ManagedKind(kind),
			managed.WithNewManaged(func() resource.Managed { return unstructured.New(kind) }),
			managed.WithClient(unstructured.NewClient(mgr.GetClient())),
			managed.WithExternalConnecter(connecter))
	}
	_ = setup
}
