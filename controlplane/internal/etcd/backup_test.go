// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

// A restore allocates log files as small as those of a server. It runs in a process that started none, as that of the command line.
func TestRestoreAllocatesSmallFiles_N68(t *testing.T) {
	const variable = "BOWLINE_TEST_RESTORE"
	if from := os.Getenv(variable); from != "" {
		must(t, Restore(t.Context(), filepath.Dir(from), from, strings.NewReader("")))
		return
	}
	dir, from := t.TempDir(), filepath.Join(t.TempDir(), "snapshot")
	s, err := Start(t.Context(), dir, true, logr.Discard())
	must(t, err)
	must(t, s.WaitReady(t.Context()))
	c, err := NewClient(dir)
	must(t, err)
	must(t, c.Snapshot(t.Context(), from))
	must(t, c.Close())
	must(t, s.Stop())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+from)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(from), "etcd", "member", "wal", "*.wal"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log, %v", err)
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		must(t, err)
		if info.Size() > logFileSize {
			t.Errorf("a restore allocated %d bytes", info.Size())
		}
	}
}
