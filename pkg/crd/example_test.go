// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"context"
	"embed"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// A provider installs the definitions that it embeds, and logs those that it skips.
func Example() {
	install := func(ctx context.Context, cfg *rest.Config, files embed.FS) error {
		crds, err := crd.Load(files)
		if err != nil {
			return err
		}
		report, err := crd.Apply(ctx, cfg, crds...)
		fmt.Println(report)
		return err
	}
	_ = install
}
