// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodegroup is the cloud's node group service: groups of machines on paper, whose size changes.
//
// A group is a record that is ready at once. Run moves the desired size of groups that ask for it, so that a client
// meets a field that somebody else writes.
package nodegroup
