// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/internal/testkit/process"
)

// stoppedStore returns a data folder of a server that was stopped, with an object of a custom kind.
func stoppedStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := newServer(t, Config{DataDir: dir})
	defer run(t, s)()
	c := newClient(t, s.RESTConfig())
	define(t, c, gadgets("DamagedGadget"))
	for _, name := range []string{"one", "two"} {
		must(t, c.Create(t.Context(), gadget("DamagedGadget", "default", name, 7)))
	}
	return dir
}

// Each start is a process of its own: a fault in a mapped file would end this one.
func TestDamagedStoreIsReported(t *testing.T) {
	original := stoppedStore(t)
	for name, damage := range map[string]func(t *testing.T, file string, content []byte) []byte{
		"empty":     func(*testing.T, string, []byte) []byte { return nil },
		"one page":  func(_ *testing.T, _ string, b []byte) []byte { return b[:4096] },
		"truncated": func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)/2] },
		"zeroed":    func(_ *testing.T, _ string, b []byte) []byte { return make([]byte, len(b)) },
		"zeroed in the middle": func(_ *testing.T, _ string, b []byte) []byte {
			clear(b[8192 : len(b)-8192])
			return b
		},
		"flipped pages": func(_ *testing.T, _ string, b []byte) []byte {
			for i := 8192; i < len(b); i += 4096 {
				b[i+8] ^= 0xff // the type of the page
			}
			return b
		},
		"flipped object": func(t *testing.T, _ string, b []byte) []byte {
			at := bytes.Index(b, []byte(`{"apiVersion":"test.bowline.dev`))
			if at < 0 {
				t.Fatal("there is no object")
			}
			for ; at >= 0; at = bytes.Index(b, []byte(`{"apiVersion":"test.bowline.dev`)) {
				b[at+1] ^= 0xff
			}
			return b
		},
		"start of the log": func(t *testing.T, file string, b []byte) []byte {
			damageLog(t, file, func(log []byte) []byte { return flip(log, 512) })
			return b
		},
		"middle of the log": func(t *testing.T, file string, b []byte) []byte {
			damageLog(t, file, func(log []byte) []byte { return flip(log, len(log)/2) })
			return b
		},
		"truncated log": func(t *testing.T, file string, b []byte) []byte {
			damageLog(t, file, func(log []byte) []byte { return log[:len(log)/2] })
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.CopyFS(filepath.Join(dir, "etcd"), os.DirFS(filepath.Join(original, "etcd"))))
			must(t, os.CopyFS(filepath.Join(dir, "pki"), os.DirFS(filepath.Join(original, "pki"))))
			must(t, os.WriteFile(encryptionPath(dir), readFile(t, encryptionPath(original)), 0o600))
			must(t, os.Chmod(dir, 0o700))
			file := etcd.DatabasePath(dir)
			must(t, os.WriteFile(file, damage(t, file, readFile(t, file)), 0o600))

			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			child, err := process.Start(ctx, process.Config{
				Args: []string{os.Args[0]}, Env: []string{childVariable + "=" + dir}, Dir: t.TempDir(), Ready: "ready",
			})
			if err == nil {
				must(t, child.Kill())
				t.Fatal("the server starts")
			}
			for _, want := range []string{filepath.Join(dir, "etcd"), "is damaged", "bowline restore FILE"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in:\n%v", want, err)
				}
			}
		})
	}
}

// damageLog changes the part of the log that is in use.
func damageLog(t *testing.T, database string, damage func([]byte) []byte) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(database), "..", "wal", "*.wal"))
	must(t, err)
	for _, log := range logs {
		must(t, os.WriteFile(log, damage(bytes.TrimRight(readFile(t, log), "\x00")), 0o600))
	}
}

func flip(content []byte, begin int) []byte {
	for i := begin; i < begin+3584; i++ {
		content[i] ^= 0xff
	}
	return content
}
