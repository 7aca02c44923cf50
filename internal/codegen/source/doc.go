// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source writes the Go files that follow from a model: types, registration, methods, field rules and resolvers.
//
// The one idea: each file is a template that sees the model; imports are collected while it runs, and gofmt has the last
// word. What the author declared is never written again (T13). What nobody needs is not written: a file without
// declarations does not exist.
//
//	files, err := source.Files(api) // by path, relative to the folder that the model was loaded from
package source
