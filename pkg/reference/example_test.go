// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reference"
)

// One field of a kind resolves its reference. A value that is there is kept, without reading.
func ExampleAPIResolver() {
	var c client.Reader // the reader that ResolveReferences is given
	subnet := &Room{}
	rsp, err := reference.NewAPIResolver(c, subnet).Resolve(context.Background(), reference.ResolutionRequest{
		CurrentValue: "net-0123",
		Reference:    &xpv1.Reference{Name: "net-a"},
		To:           reference.To{Managed: &Network{}, List: &NetworkList{}},
		Extract:      reference.ExternalName(),
		FieldPath:    "spec.forProvider.networkId",
	})
	fmt.Println(rsp.ResolvedValue, err)
	// Output: net-0123 <nil>
}

// What a user reads in the condition of an object whose reference waits.
func ExampleUnresolvedError() {
	err := &reference.UnresolvedError{
		FieldPath: "spec.forProvider.networkId", Kind: "Network", Namespace: "team", Name: "net-a", Problem: "does not exist yet",
	}
	fmt.Println(err)
	fmt.Println(reference.IsUnresolved(fmt.Errorf("resolving references: %w", err)))
	// Output:
	// spec.forProvider.networkId: Network "net-a" in namespace "team" does not exist yet
	// true
}

// A reconciler resolves through the tracker, and wakes whom an informer's events concern.
func ExampleTracker() {
	var (
		c       client.Client // the manager's
		tracker = reference.NewTracker(nil)
		subnet  = &Network{}
		self    = reference.Dependent{Kind: networkKind, Name: types.NamespacedName{Name: "subnet-a"}}
	)
	recorder := tracker.Recorder(self, c)
	err := subnet.ResolveReferences(context.Background(), recorder)
	recorder.Done(err)

	arrived := &Network{}
	for _, dependent := range tracker.Handle(networkKind, nil, arrived) {
		fmt.Println("enqueue", dependent.Name)
	}
	tracker.Forget(self) // when the object is gone
	// Output:
}
