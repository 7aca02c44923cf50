// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"os"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/trace"
)

// The first node that is not as it should be is where to look next.
func ExampleWriteTree() {
	root := &trace.Node{
		Role: inspect.RoleClaim, Kind: "FancySQLInstance", Namespace: "shop", Name: "orders", State: trace.StateWaiting, Phase: "Unbound",
		Children: []*trace.Node{
			{Role: inspect.RoleClass, Kind: "FavouriteDBInstanceClass", Name: "small", State: trace.StateMissing},
			{Role: inspect.RoleManaged, State: trace.StateMissing, Message: "None is created or bound yet."},
		},
	}
	_ = trace.WriteTree(os.Stdout, root)
	// Output:
	// FancySQLInstance shop/orders: waiting (Unbound)
	// ├─ class FavouriteDBInstanceClass small: missing
	// └─ managed resource (none): missing
	//       None is created or bound yet.
}
