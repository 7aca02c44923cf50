// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command size prints the lines that people maintain, by package; `make size` runs it at the root of the repository.
package main

import (
	"fmt"
	"os"

	"github.com/bowline-dev/bowline/internal/policy"
)

func main() {
	if err := policy.PrintSizes(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
