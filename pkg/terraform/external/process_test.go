// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// pids are the processes of the provider that called the external system, in the order of their first calls.
func (s *stage) pids() (pids []int) {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.folder, "calls.log"))
	s.must(err)
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasSuffix(line, "\n") {
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		s.must(err)
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// another waits until a further process calls the external system, and returns all.
func (s *stage) another(than []int) (pids []int) {
	s.t.Helper()
	s.Eventually(s.t, "another process works", func(context.Context) error {
		if pids = s.pids(); len(pids) <= len(than) {
			return fmt.Errorf("there are %v", pids)
		}
		return nil
	})
	return pids
}

// hasEnded waits until a process has ended.
func (s *stage) hasEnded(pid int) {
	s.t.Helper()
	s.Eventually(s.t, "the former process ends", func(context.Context) error {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("%d is there: %w", pid, err)
		}
		return nil
	})
}

// Each configuration in use has one process. One that is killed is back at the next pass, without a change of the objects.
func TestProcesses(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		s.create(s.object("ProviderConfig", "other", map[string]any{"configuration": map[string]any{"folder": s.folder}}))
		north, south, other := s.berth("north", 2), s.berth("south", 2), s.berth("other", 2)
		s.create(north, south)
		s.ready(north, south)
		one := s.pids()
		if len(one) != 1 {
			t.Fatalf("two objects with one configuration have the processes %v", one)
		}
		set(other.Object, "other", "spec", "providerConfigRef", "name")
		s.create(other)
		s.ready(other)
		two := s.pids()
		if len(two) != 2 {
			t.Fatalf("objects with two configurations have the processes %v", two)
		}
		s.must(syscall.Kill(one[0], syscall.SIGKILL))
		if three := s.another(two); len(three) != 3 {
			t.Errorf("after a kill of %d there are %v", one[0], three)
		}
		s.ready(north, south, other)
		if s.calls("create") != 3 || s.calls("update") != 0 {
			t.Errorf("%d were created, %d updated", s.calls("create"), s.calls("update"))
		}
	})
}

// A process that has served many passes is replaced by another, and ends. Nobody notices.
func TestWornProcess(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.wears = true
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		before, first := north.GetResourceVersion(), s.pids()
		s.another(first)
		s.hasEnded(first[0])
		s.another(s.pids())
		if s.read(north); north.GetResourceVersion() != before {
			t.Errorf("the object was written: %v", north.Object["status"])
		}
	})
}
