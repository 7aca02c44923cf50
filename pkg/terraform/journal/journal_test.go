// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// The variables make the test binary a client that creates a berth, for tests that kill it.
const (
	variableProvider = "BOWLINE_TEST_PROVIDER"
	variableFolder   = "BOWLINE_TEST_FOLDER"
	variableJournal  = "BOWLINE_TEST_JOURNAL"
)

func TestMain(m *testing.M) {
	journal.Main()
	if path := os.Getenv(variableProvider); path != "" {
		if _, err := create(context.Background(), path, os.Getenv(variableFolder), os.Getenv(variableJournal)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// noted is what notes say of a change by create.
var noted = journal.Change{After: "the last", Version: new(int64(7))}

// create creates a berth for object "uid".
func create(ctx context.Context, path, folder, notes string) (*plugin.Process, error) {
	j, err := journal.Open(notes)
	if err != nil {
		return nil, err
	}
	command, err := j.Command(plugin.Command{Path: path})
	if err != nil {
		return nil, err
	}
	process, err := plugin.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	schemas, err := process.Schemas(ctx, func(name string) bool { return strings.HasSuffix(name, "_berth") })
	if err != nil {
		return process, err
	}
	set := func(empty cty.Value, name, value string) cty.Value {
		values := empty.AsValueMap()
		values[name] = cty.StringVal(value)
		return cty.ObjectVal(values)
	}
	provider, err := schemas.Configure(ctx, process, set(schemas.Provider.Block.Empty(), "folder", folder), nil)
	if err != nil {
		return process, err
	}
	for name, s := range schemas.Resources {
		r := plugin.Resource{Type: name, Schema: s}
		plan, err := provider.Plan(ctx, r, r.NoState(), set(s.Block.Empty(), "name", "north"))
		if err != nil {
			return process, err
		}
		s.Version = *noted.Version
		if _, err := provider.Apply(ctx, r, plan, "uid", noted.After); err != nil {
			return process, err
		}
	}
	return process, nil
}

func find(t *testing.T, notes string) *journal.Note {
	t.Helper()
	j, err := journal.Open(notes)
	if err != nil {
		t.Fatal(err)
	}
	note, err := j.Find("uid")
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func each(t *testing.T, run func(t *testing.T, program string)) {
	for _, name := range []string{"reef", "shoal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, mirror.Program(t, name))
		})
	}
}

// A journal has the answer of each change until it is removed, and ends with its client.
func TestNotes(t *testing.T) {
	each(t, func(t *testing.T, program string) {
		notes := filepath.Join(t.TempDir(), "notes")
		process, err := create(t.Context(), program, t.TempDir(), notes)
		if err != nil {
			t.Fatal(err)
		}
		note := find(t, notes)
		if note == nil || note.Lasting || !note.Finished || note.Answer.GetNewState() == nil || !cmp.Equal(note.Change, noted) {
			t.Errorf("the note is %+v", note)
		}
		j, err := journal.Open(notes)
		if err == nil {
			err = j.Remove("uid")
		}
		if err != nil || find(t, notes) != nil {
			t.Errorf("after its removal there is a note (%v)", err)
		}
		info, err := os.Stat(notes)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read the folder: %v, %v", info.Mode(), err)
		}
		process.Close()
	})
}

// A change that cannot be noted, since the disk is full, is not made, and is made as soon as there is room.
func TestFullDisk(t *testing.T) {
	var full sync.Mutex // the journals lock their file, which is the same device
	each(t, func(t *testing.T, program string) {
		full.Lock()
		defer full.Unlock()
		notes, folder := t.TempDir(), t.TempDir()
		if err := os.Symlink("/dev/full", filepath.Join(notes, "uid.change")); err != nil {
			t.Fatal(err)
		}
		process, err := create(t.Context(), program, folder, notes)
		process.Close()
		if failure.Of(err).Reason != failure.JournalUnwritable || failure.IsOutcomeUnknown(err) || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("its error is %v: %+v", err, failure.Of(err))
		}
		if made, _ := filepath.Glob(filepath.Join(folder, "*_berth", "*.json")); len(made) > 0 {
			t.Errorf("it made %v", made)
		}
		process, err = create(t.Context(), program, folder, notes) // what a failed note leaves is removed
		process.Close()
		if err != nil {
			t.Errorf("with room: %v", err)
		}
	})
}

// A kill of the client loses no answer: the journal waits for it, and ends then.
func TestKilledClient(t *testing.T) {
	each(t, func(t *testing.T, program string) {
		notes, folder := filepath.Join(t.TempDir(), "notes"), t.TempDir()
		fault := `[{"verb": "create", "when": "after", "do": "delay", "delay": "2s"}]`
		if err := os.WriteFile(filepath.Join(folder, "faults.json"), []byte(fault), 0o600); err != nil {
			t.Fatal(err)
		}
		client := exec.CommandContext(t.Context(), os.Args[0])
		client.Env = append(os.Environ(), variableProvider+"="+program, variableFolder+"="+folder, variableJournal+"="+notes)
		client.Stderr = os.Stderr
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		made := func() []string {
			files, _ := filepath.Glob(filepath.Join(folder, "*_berth", "*.json"))
			return files
		}
		testkit.Eventually(t, "the berth is made", func() error {
			if len(made()) == 0 {
				return fmt.Errorf("there is none")
			}
			return nil
		})
		if err := client.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = client.Wait() // it was killed
		if note := find(t, notes); note == nil || !note.Lasting || note.Finished {
			t.Errorf("while the change lasts the note is %+v", note)
		}
		if discarded, err := discard(t, notes); discarded || err != nil {
			t.Errorf("the note of a change that lasts was discarded: %v, %v", discarded, err)
		}
		testkit.Eventually(t, "the journal has the answer", func() error {
			if note := find(t, notes); note.Lasting || note.Answer == nil {
				return fmt.Errorf("the note is %+v", note)
			}
			return nil
		})
		testkit.Eventually(t, "no process is left", func() error {
			if left := processes(t, folder+"\x00", notes+"\x00"); len(left) > 0 {
				return fmt.Errorf("there are %v", left)
			}
			return nil
		})
	})
}

// Where the provider ends without an answer, the journal says so.
func TestKilledProvider(t *testing.T) {
	each(t, func(t *testing.T, program string) {
		notes, folder := t.TempDir(), t.TempDir()
		fault := `[{"verb": "create", "when": "after", "do": "exit"}]`
		if err := os.WriteFile(filepath.Join(folder, "faults.json"), []byte(fault), 0o600); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		process, err := create(t.Context(), program, folder, notes)
		if err == nil {
			t.Fatal("it created a berth")
		}
		<-process.Done()
		process.Close()
		if note := find(t, notes); note == nil || note.Lasting || !note.Finished || note.Answer != nil || note.Began.Before(begin.Add(-time.Second)) {
			t.Errorf("the note is %+v", note)
		}
		if discarded, err := discard(t, notes); !discarded || err != nil || find(t, notes) != nil {
			t.Errorf("the note of an object that is gone is there: %v, %v", discarded, err)
		}
	})
}

func discard(t *testing.T, notes string) (bool, error) {
	t.Helper()
	j, err := journal.Open(notes)
	if err != nil {
		t.Fatal(err)
	}
	return j.Discard("uid")
}

// processes returns those with one of the texts in their environment.
func processes(t *testing.T, texts ...string) (found []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		for _, text := range texts {
			if strings.Contains(string(environ), text) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}
