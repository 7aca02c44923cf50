// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bowline is a control plane for managed services, in one program.
package main

import (
	"os"

	"github.com/bowline-dev/bowline/internal/cli"
)

func main() { os.Exit(cli.Main()) }
