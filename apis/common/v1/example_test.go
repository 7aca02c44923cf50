// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"fmt"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// BucketParameters are the settings of a bucket.
type BucketParameters struct {
	Region string `json:"region"`
}

// BucketSpec is the spec of a managed kind.
type BucketSpec struct {
	v1.ResourceSpec `json:",inline"`
	ForProvider     BucketParameters `json:"forProvider"`
}

// What users of a kind write: the kind's own settings, and what every kind has.
func Example() {
	spec := BucketSpec{
		ResourceSpec: v1.ResourceSpec{
			ProviderConfigReference: &v1.ProviderConfigReference{Name: "team"},
			DeletionPolicy:          v1.DeletionOrphan,
		},
		ForProvider: BucketParameters{Region: "north"},
	}
	text, err := json.Marshal(spec)
	fmt.Println(string(text), err)
	// Output: {"providerConfigRef":{"name":"team"},"deletionPolicy":"Orphan","forProvider":{"region":"north"}} <nil>
}

// A client tells how its resource is; setting the same condition again changes nothing.
func ExampleConditionedStatus() {
	var status v1.ConditionedStatus
	status.SetConditions(v1.Creating())
	status.SetConditions(v1.Available(), v1.ReconcileSuccess())
	for _, c := range status.Conditions {
		fmt.Println(c.Type, c.Status, c.Reason)
	}
	// Output:
	// Ready True Available
	// Synced True ReconcileSuccess
}

// QueueParameters are the settings of a kind that exists in a namespace.
type QueueParameters struct {
	// PasswordSecretRef selects the password. The runtime generates a random one if it is not set.
	PasswordSecretRef *v1.LocalSecretKeySelector `json:"passwordSecretRef,omitempty"`
}

// A sensitive setting of a namespaced kind is in a Secret beside the object, so that there is no namespace to say.
func ExampleLocalSecretKeySelector() {
	text, err := json.Marshal(QueueParameters{PasswordSecretRef: &v1.LocalSecretKeySelector{Name: "queue", Key: "password"}})
	fmt.Println(string(text), err)
	// Output: {"passwordSecretRef":{"name":"queue","key":"password"}} <nil>
}
