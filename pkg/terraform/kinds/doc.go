// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds turns the resource types of Terraform providers into kinds of the API: names, definitions and values.
//
// Everything follows from the type's name and its schema. A resource type becomes one kind in each scope, whose spec.forProvider and
// spec.initProvider have the arguments of the type and whose status.atProvider has all that is not secret:
//
//	definitions, err := kinds.Definitions("postgresql", "postgresql_database", s) // Database.postgresql.tf.bowline.dev, and …tf.m.bowline.dev
//	config, err := kinds.Config(s.Block, "spec.forProvider", forProvider, secrets)
//	err = kinds.CheckRequired(s.Block, "spec.forProvider", config)
//	atProvider := kinds.Object(s.Block, state)
//	details := kinds.Connection(s.Block, state)
//
// spec.initProvider is laid under spec.forProvider by parameters.Overlay, as for every kind.
//
// # Names
//
// Kinds and fields are in camelCase. A field that would have the name of another keeps its name of Terraform. A sensitive or write-only
// argument becomes a field <name>SecretRef, which selects the key of a Secret with the value: that of a string as it is, a number or bool as
// text, and any other as JSON with the names of Terraform.
//
// The names of a kind depend on the names of provider and type only, so that they never change when the provider adds types. No other type of
// the provider has them: a name that could be ambiguous, or is too long, ends with a hash. See Names.
package kinds
