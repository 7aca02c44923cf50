// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies has what the controllers of claims and of targets share: each gives its objects copies of connection Secrets.
//
// # The one idea
//
// A copy is a connection Secret that its owner controls and that says where it is from; the source says whom its content goes on
// to. Package secret carries on what both agree on. So an Owner tells its copies from everybody else's Secrets, which it neither
// reads nor writes, and the functions on sources give and take back their half of the agreement.
package copies
