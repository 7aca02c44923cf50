// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why_test

import (
	"os"
	"time"

	"github.com/bowline-dev/bowline/internal/cli/why"
)

// A claim is explained together with its managed resource.
func ExampleWriteText() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	_ = why.WriteText(os.Stdout, &why.Explanation{
		Kind: "FancySQLInstance", Namespace: "shop", Name: "orders", State: why.StateWaiting, Phase: "Unbound",
		Blockers: []string{`Managed resource FavouriteDBInstance "shop-orders-x1b2c" is not ready yet (Creating). Wait until it is.`},
		Because: &why.Explanation{
			Kind: "FavouriteDBInstance", Name: "shop-orders-x1b2c", State: why.StateFailing,
			Blockers: []string{`ProviderConfig "prod" does not exist.`},
			Actions:  []string{`Create ProviderConfig "prod", or correct spec.providerConfigRef.`},
		},
	}, now)
	// Output:
	// FancySQLInstance shop/orders is waiting (Unbound).
	// Causes:
	//   - Managed resource FavouriteDBInstance "shop-orders-x1b2c" is not ready yet (Creating). Wait until it is.
	//
	// Its managed resource:
	// FavouriteDBInstance shop-orders-x1b2c is failing.
	// Causes:
	//   - ProviderConfig "prod" does not exist.
	// What to do:
	//   - Create ProviderConfig "prod", or correct spec.providerConfigRef.
}
