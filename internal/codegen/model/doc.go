// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model reads the packages, kinds, fields, comments and markers of an API.
//
// It reads syntax and not types, so that the source may use declarations that are yet to be generated. It ignores generated files,
// so the result only depends on the files of the author.
//
//	api, err := model.Load("providers/sql/apis", ".")
//	for _, pkg := range api.Packages { for _, kind := range pkg.Kinds { … } }
//
// Package lint checks a model; packages source and definition generate Go and custom resource definitions from it.
package model
