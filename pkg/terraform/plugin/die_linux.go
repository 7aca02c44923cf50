// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import "syscall"

// dieWithParent has the kernel end a process with the thread that starts it.
func dieWithParent(of *syscall.SysProcAttr) { of.Pdeathsig = syscall.SIGKILL }
