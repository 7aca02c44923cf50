// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapping converts between a vendor's types and those of a kind by the names of their fields.
//
// The one idea: fields correspond if their names are equal in any spelling: CIDRBlock, CidrBlock and cidr_block. The field tag
// vendor:"Name" names another counterpart. The mapping of two types is compiled once and then reports what does not fit.
//
//	m, err := mapping.New[network.Network, v1.NetworkParameters]()
//	declared := m.Copy(have)
package mapping
