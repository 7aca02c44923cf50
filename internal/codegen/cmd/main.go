// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd is `bowline generate` as a program of its own: it is built in seconds, without the API server that the
// command bowline brings along.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/bowline-dev/bowline/internal/codegen"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if there is something to write")
	flag.Parse()
	if err := codegen.Command(context.Background(), os.Stdout, ".", *check, flag.Args()...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
