// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plugin

// Memory is the resident memory, in bytes, of the process and of those that it started: 0, since it is known on Linux only.
func (p *Process) Memory() int64 { return 0 }

// OwnMemory is Memory without that of the journal: 0.
func (p *Process) OwnMemory() int64 { return 0 }
