// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// A command reads the claim that a person named, and the class that it names in turn, whatever provider's that is.
func Example() {
	show := func(ctx context.Context, cfg *rest.Config, words []string) error {
		cluster, err := inspect.Connect(cfg)
		if err != nil {
			return err
		}
		claim, err := cluster.Find(ctx, inspect.Query{Words: words, Namespace: "shop"})
		if err != nil {
			return err // has what to type instead
		}
		if ref, ok := inspect.Reference(claim.Object, "spec", "classRef"); ok {
			fmt.Println("its class is", cluster.Follow(ctx, ref, "").Presence)
		}
		return nil
	}
	_ = show
}
