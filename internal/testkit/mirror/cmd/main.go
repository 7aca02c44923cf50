// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd builds the Terraform providers of tests as a filesystem mirror, and prints its folder; `make terraform-providers` runs it.
package main

import (
	"fmt"
	"os"

	"github.com/bowline-dev/bowline/internal/testkit/mirror"
)

func main() {
	dir, err := mirror.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}
