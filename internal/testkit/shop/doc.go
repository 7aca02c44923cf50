// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shop has kinds for tests of the controllers of claims and classes, as authors write them and the generator
// completes them: managed kinds Item and Gadget, their classes ItemClass, for both claim kinds, and GadgetClass, for one, and
// the claim kinds ItemClaim and OtherClaim.
//
//	func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, shop.CRDs()...)) }
//
// +kubebuilder:object:generate=true
// +groupName=shop.test.bowline.dev
// +versionName=v1
// +bowline:system=the shop
package shop

//go:generate go run github.com/bowline-dev/bowline/internal/codegen/cmd .
