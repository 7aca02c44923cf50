// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis holds the kinds of the test cloud.
package apis

//go:generate go run github.com/bowline-dev/bowline/internal/codegen/cmd .
