// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"fmt"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// A bucket is what an author's type of parameters looks like.
type bucket struct {
	Region    string            `json:"region,omitempty"`
	Size      *int64            `json:"size,omitempty"`
	Versioned *bool             `json:"versioned,omitempty"`
	Zones     []string          `json:"zones,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
}

// What an external client does with the parameters of one kind.
func Example() {
	forProvider := bucket{Region: "eu", Versioned: new(false), Zones: []string{"b", "a"}}
	initProvider := bucket{Size: new(int64(10))}

	sent, err := parameters.ForCreation(forProvider, initProvider) // in Create
	fmt.Println("create with size", *sent.Size, err)

	// In Observe: the vendor's answer as our own type. Somebody turned versions on, and the bucket has grown.
	theirs := bucket{Region: "EU", Versioned: new(true), Zones: []string{"a", "b"}, Size: new(int64(30)),
		Tags: map[string]string{"bowline-uid": "6a1f", "tier": "hot"}}
	options := []parameters.Option{parameters.InitProvider(initProvider), parameters.IgnoreCase("region"), parameters.AsSet("zones")}

	changed, err := parameters.LateInitialize(&forProvider, theirs, options...)
	fmt.Println("changed:", changed, forProvider.Tags, forProvider.Size == nil, err)

	drift, err := parameters.Compare(forProvider, theirs, options...)
	fmt.Println("drift:", drift, err)
	// Output:
	// create with size 10 <nil>
	// changed: true map[tier:hot] true <nil>
	// drift: [{versioned false true}] <nil>
}

func ExampleForCreation() {
	union, err := parameters.ForCreation(bucket{Region: "eu"}, bucket{Region: "us", Size: new(int64(10))})
	fmt.Println(union.Region, *union.Size, err)
	// Output: eu 10 <nil>
}

func ExampleLateInitialize() {
	forProvider := bucket{Region: "eu"}
	changed, err := parameters.LateInitialize(&forProvider, bucket{Region: "eu", Size: new(int64(10))})
	fmt.Println(changed, *forProvider.Size, err)
	// Output: true 10 <nil>
}

func ExampleCompare() {
	drift, err := parameters.Compare(bucket{Size: new(int64(10))}, bucket{Region: "eu", Size: new(int64(30))})
	fmt.Println(drift, err)
	// Output: [{size 10 30}] <nil>
}

func ExampleOverlay() {
	forProvider := map[string]any{"scalingConfig": []any{map[string]any{"maxSize": int64(4), "minSize": int64(1)}}}
	initProvider := map[string]any{"scalingConfig": []any{map[string]any{"desiredSize": int64(1)}}}
	fmt.Println(parameters.Overlay(forProvider, initProvider))
	// Output: map[scalingConfig:[map[desiredSize:1 maxSize:4 minSize:1]]]
}

func ExampleFill() {
	spec, filled := parameters.Fill(map[string]any{"region": "eu"}, map[string]any{"region": "eu", "availabilityZone": "eu-1"})
	fmt.Println(spec, filled)
	// Output: map[availabilityZone:eu-1 region:eu] [availabilityZone]
}

func ExampleDifferences() {
	desired := map[string]any{"rules": []any{map[string]any{"port": int64(443)}}, "adminPassword": "a"}
	observed := map[string]any{"rules": []any{map[string]any{"port": int64(80)}}, "adminPassword": "b"}
	for _, d := range parameters.Differences(desired, observed) {
		fmt.Printf("%s: %s instead of %s\n", d.Path, d.Observed, d.Desired)
	}
	// Output:
	// adminPassword: (sensitive) instead of (sensitive)
	// rules[0].port: 80 instead of 443
}

func ExampleSecretReferences() {
	fmt.Println(parameters.SecretReferences(map[string]any{
		"passwordSecretRef": map[string]any{"namespace": "team-a", "name": "admin", "key": "password"},
	}))
	// Output: map[passwordSecretRef:{admin team-a password}]
}
