// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"fmt"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// What an external client does with the parameters of one kind.
func Example() {
	forProvider := map[string]any{"region": "eu", "versioned": false, "zones": []any{"b", "a"}}
	initProvider := map[string]any{"size": int64(10)}
	fmt.Println("create:", parameters.Overlay(forProvider, initProvider))

	// Somebody turned versions on, and the bucket has grown.
	observed := map[string]any{"region": "EU", "versioned": true, "zones": []any{"a", "b"}, "size": int64(30), "tier": "hot"}
	rules := parameters.Rules{IgnoreCase: []string{"region"}, Sets: []string{"zones"}}

	forProvider, filled := rules.Fill(forProvider, observed, initProvider)
	fmt.Println("late initialization:", filled, forProvider["tier"])
	fmt.Println("drift:", rules.Differences(forProvider, observed, initProvider))
	// Output:
	// create: map[region:eu size:10 versioned:false zones:[b a]]
	// late initialization: [tier] hot
	// drift: [{versioned false true}]
}
