// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package plugin

import "syscall"

// dieWithParent does nothing: only Linux can. A provider whose parent is killed ends when its connection does, or is left.
func dieWithParent(*syscall.SysProcAttr) {}
