// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// variableDoomed makes the test binary a process that starts the provider of that path, and kills itself.
const variableDoomed = "BOWLINE_TEST_DOOMED"

// TestDoomed is the body of such a process.
func TestDoomed(t *testing.T) {
	path, outlives := strings.CutPrefix(os.Getenv(variableDoomed), "outlives:")
	if path == "" {
		return // it is for TestLeftFolders
	}
	p, err := plugin.Start(t.Context(), plugin.Command{Path: path, Outlives: outlives, Files: map[string][]byte{"credentials": []byte("secret")}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("PID", p.PID())
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// doom runs such a process, and returns the PID of its provider.
func doom(t *testing.T, value string) (pid int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestDoomed$")
	cmd.Env = append(os.Environ(), variableDoomed+"="+value)
	printed, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 64) // the provider may keep the pipe open
	n, _ := printed.Read(line)
	_, _ = cmd.Process.Wait()
	number, _, _ := bytes.Cut(bytes.TrimPrefix(line[:n], []byte("PID ")), []byte("\n"))
	if pid, err = strconv.Atoi(string(number)); err != nil {
		t.Fatalf("it printed %s", line[:n])
	}
	return pid
}

// What a provider leaves in the folder for temporary files after a kill -9 is removed at the next start, unless the provider still runs.
func TestLeftFolders(t *testing.T) {
	program, folder := mirror.Program(t, "reef"), t.TempDir()
	t.Setenv("TMPDIR", folder)
	credentials := func() []string {
		t.Helper()
		if err := plugin.RemoveLeftFolders(); err != nil {
			t.Error(err)
		}
		found, err := filepath.Glob(filepath.Join(folder, "*", "credentials"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	gone := func(t *testing.T) {
		t.Helper()
		testkit.Eventually(t, "the credentials are removed", func() error {
			if left := credentials(); len(left) > 0 {
				return fmt.Errorf("there are %v", left)
			}
			return nil
		})
	}
	t.Run("of a provider that ended, too", func(t *testing.T) {
		doom(t, program)
		gone(t)
	})
	t.Run("of one that still runs, they stay", func(t *testing.T) {
		pid := doom(t, "outlives:"+program)
		if left := credentials(); len(left) != 1 {
			t.Errorf("there are %v", left)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		gone(t)
	})
	t.Run("of one of this process, they stay", func(t *testing.T) {
		p, err := plugin.Start(t.Context(), plugin.Command{Path: program, Files: map[string][]byte{"credentials": []byte("secret")}})
		if err != nil {
			t.Fatal(err)
		}
		if left := credentials(); len(left) != 1 {
			t.Errorf("there are %v", left)
		}
		p.Close()
		gone(t)
	})
	t.Run("what others made stays", func(t *testing.T) {
		var made []string
		for _, name := range []string{"bowline-tf-without-a-lock", "other"} {
			made = append(made, filepath.Join(folder, name, "file"))
		}
		made = append(made, filepath.Join(folder, "other", "bowline.lock"))
		for _, file := range made {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(folder, "bowline-tf-link")
		if err := os.Symlink(filepath.Join(folder, "other"), link); err != nil {
			t.Fatal(err)
		}
		credentials()
		for _, file := range append(made, link) {
			if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s was removed", file)
			}
		}
	})
}
