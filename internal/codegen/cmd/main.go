// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd is `bowline generate` as a separate program, which is built in seconds because it does not contain the API server.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/bowline-dev/bowline/internal/codegen"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if files are not up to date")
	flag.Parse()
	if err := codegen.Command(context.Background(), os.Stdout, ".", *check, flag.Args()...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
