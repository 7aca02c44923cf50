// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd checks the ledger of the contract against the tests; `make contract` runs it.
package main

import (
	"os"

	"github.com/bowline-dev/bowline/internal/contract"
)

func main() { os.Exit(contract.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
