// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapping copies structs of one API to those of another by the names of their fields, so that nobody writes
// conversions between a vendor's types and a kind's by hand.
//
// Its one idea: two fields are the same if their names are, whatever the spelling: CIDRBlock, CidrBlock and cidr_block.
// Field tag vendor:"Name" says it where they are not. The mapping of two types is made once, and tells then what does not
// fit.
//
//	m, err := mapping.New[network.Network, v1.NetworkParameters]()
//	declared := m.Copy(have)
package mapping
