// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/event"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// What holds for every managed resource needs no kind.
func Example() {
	report := func(mg resource.Managed) {
		fmt.Printf("uses %s %q\n", resource.ProviderConfigKind(mg), resource.ProviderConfigName(mg))
		fmt.Println("deleted with the object:", resource.MayDeleteExternal(mg))
	}
	mg := unstructured.New(schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"})
	mg.SetReclaimPolicy(xpv1.ReclaimRetain)
	report(mg)
	// Output:
	// uses ProviderConfig "default"
	// deleted with the object: false
}

// A controller that cares for the Secrets of buckets only.
func ExampleNewPredicates() {
	bucket := schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}
	ofBuckets := resource.NewPredicates(resource.IsControlledByKind(bucket))
	fmt.Println(ofBuckets.Create(event.CreateEvent{Object: unstructured.New(bucket)}))
	// Output: false
}
