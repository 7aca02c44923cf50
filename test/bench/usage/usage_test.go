// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"os"
	"testing"
)

func TestMeterSeesThisProcess(t *testing.T) {
	t.Parallel()
	m := NewMeter("this process", os.Getpid())
	for begin, now := m.before.CPU, 0.0; now <= begin; { // a tick of work
		u, err := Read(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		now = u.CPU
	}
	used, err := m.Stop()
	if err != nil || used.CPU <= 0 || used.Anonymous <= 0 || used.Resident < used.Anonymous {
		t.Errorf("used %+v, %v", used, err)
	}
	if total, err := MachineCPU(); err != nil || total < used.CPU {
		t.Errorf("the machine spent %v, %v", total, err)
	}
}
