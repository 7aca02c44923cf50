// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model reads what an author wrote of an API: packages, kinds, fields, comments and markers.
//
// The one idea: only syntax is read, never types, so that the source may use what is still to be generated. What the
// generator itself wrote is not read, hence a run starts from what the author wrote, however often it is repeated.
//
//	api, err := model.Load("providers/sql/apis", ".")
//	for _, pkg := range api.Packages { for _, kind := range pkg.Kinds { … } }
//
// Package lint judges what was read; packages source and definition write Go and custom resource definitions from it.
package model
