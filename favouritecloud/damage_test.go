// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud"
)

// The server continues to run while its cloud is damaged, because the cloud was killed. Each start is a process of its own.
func TestDamagedStateIsReported(t *testing.T) {
	t.Parallel()
	c, e := spawnCloud(t, newDataDir(t)), caches()
	password := c.create(t, e, "orders")
	at := c.awaitOnline(t, e, "orders")
	e.ask(t, at, password, e.write)
	c.kill()
	file := filepath.Join(c.dir, "state.db")
	intact, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":     func([]byte) []byte { return []byte{} },
		"gone":      func([]byte) []byte { return nil },
		"one page":  func(b []byte) []byte { return b[:4096] },
		"truncated": func(b []byte) []byte { return b[:3*4096] }, // the second half of a file may be unused
		"zeroed":    func(b []byte) []byte { return make([]byte, len(b)) },
		"garbage":   func(b []byte) []byte { return bytes.Repeat([]byte("garbage "), len(b)/8) },
		"zeroed behind the first pages": func(b []byte) []byte {
			clear(b[8192:])
			return b
		},
		"flipped pages": func(b []byte) []byte {
			for i := 8192; i < len(b); i += 4096 {
				b[i+8] ^= 0xff // the type of the page
			}
			return b
		},
		"flipped record": func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(`{"Project":`), []byte(`["Project":`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := damage(bytes.Clone(intact))
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if damaged != nil {
				if err := os.WriteFile(file, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before, begin := filesIn(t, c.dir), time.Now()
			limited, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(limited, os.Args[0])
			cmd.Env = append(os.Environ(), dataDirVariable+"="+c.dir)
			out, err := cmd.CombinedOutput()
			if err == nil || limited.Err() != nil {
				t.Fatal("the cloud ran")
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("the report took %v", took)
			}
			for _, want := range []string{file, "is damaged", "bowline restore FILE"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
			if diff := cmp.Diff(before, filesIn(t, c.dir)); diff != "" {
				t.Errorf("files changed, -before +after:\n%s", diff)
			}
			if got := e.ask(t, at, password, e.read); got != "kept" {
				t.Errorf("the server has %q", got)
			}
			if err := os.WriteFile(file, intact, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
	c = startCloud(t, favouritecloud.Config{DataDir: c.dir})
	if got := e.ask(t, c.awaitOnline(t, e, "orders"), password, e.read); got != "kept" {
		t.Errorf("with its state again, the cloud has a server with %q", got)
	}
}

// filesIn returns the hashes of the files in a folder.
func filesIn(t *testing.T, folder string) map[string][32]byte {
	t.Helper()
	hashes := map[string][32]byte{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		hashes[path] = sha256.Sum256(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hashes
}
