// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source generates the Go files of an API: types, registration, methods, field rules and resolvers.
//
// Each file is a template over the model. Imports are collected while it is executed, and gofmt formats the result. Declarations of
// the author are not generated again (T13), and files without declarations are not generated.
//
//	files, err := source.Files(api) // by path, relative to the folder that the model was loaded from
package source
