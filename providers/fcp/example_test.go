// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/fcp"
)

// A program of your own that runs the provider's controllers; its definitions have to be installed before.
func Example() {
	main := func() { provider.Main(fcp.Provider()) }
	_ = main
}
