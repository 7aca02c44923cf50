// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Hello is a program for images of tests.
package main

import "fmt"

func main() { fmt.Println("hello") }
