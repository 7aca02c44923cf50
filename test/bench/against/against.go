// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package against measures another commit of the repository and the programs of this one, in turn.
package against

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// Options of a comparison.
type Options struct {
	Bowline string   // the program of this tree
	Rounds  int      // how often to measure both
	Flags   []string // of the benches of both
}

// A side is one of the two commits that are compared.
type side struct{ bench, bowline string }

// Measure measures another commit and the programs of this one, in turn so that what the machine does besides affects both. It returns
// the means.
func Measure(ctx context.Context, ref string, o Options) (before, after *report.Report, err error) {
	if o.Rounds < 1 {
		return nil, nil, errors.New("--rounds must be at least 1")
	}
	commit, err := findCommit(ctx, ".", ref)
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "bowline-bench-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if err := run(ctx, ".", "git", "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return nil, nil, err
	}
	defer func() {
		err = errors.Join(err, run(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree))
	}()
	other, err := build(ctx, tree)
	if err != nil {
		return nil, nil, fmt.Errorf("building %s: %w", ref, err)
	}
	var all [2][]*report.Report
	for range o.Rounds {
		for i, s := range []side{other, {self, o.Bowline}} {
			r, err := s.measure(ctx, o, dir, self)
			if err != nil {
				return nil, nil, err
			}
			all[i] = append(all[i], r)
		}
	}
	before, after = report.Mean(all[0]), report.Mean(all[1])
	if !report.SamePolls(before, after) {
		before.Drop("idle")
		after.Drop("idle")
	}
	before.AddRatios()
	after.AddRatios()
	return before, after, nil
}

// findCommit returns the commit that a branch, tag or hash of the repository names.
func findCommit(ctx context.Context, repository, ref string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	cmd.Dir = repository
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("there is no commit %q in this clone: give a branch, a tag or a hash that git log shows, or fetch it", ref)
	}
	return strings.TrimSpace(string(out)), nil
}

// build builds both programs of a worktree: bowline as its own Makefile does, and the bench of this tree with the runtime of the other.
// Where that does not compile, since the runtime had another API, it builds the other tree's own bench.
func build(ctx context.Context, tree string) (side, error) {
	s := side{filepath.Join(tree, "bin", "bench"), filepath.Join(tree, "bin", "bowline")}
	if err := run(ctx, tree, "make", "--no-print-directory", "build"); err != nil {
		return s, err
	}
	sources := filepath.Join(tree, "test", "bench")
	compile := func() error { return run(ctx, tree, "go", "build", "-buildvcs=false", "-o", s.bench, "./test/bench") }
	if err := errors.Join(os.RemoveAll(sources), os.CopyFS(sources, os.DirFS(filepath.Join("test", "bench")))); err != nil {
		return s, err
	}
	if compile() == nil {
		return s, nil
	}
	fmt.Fprintln(os.Stderr, "The bench of this tree does not compile there: the other commit's own bench measures its objects.")
	if err := os.RemoveAll(sources); err != nil {
		return s, err
	}
	if err := run(ctx, tree, "git", "checkout", "--quiet", "HEAD", "--", "test/bench"); err != nil {
		return s, fmt.Errorf("it has no bench: %w", err)
	}
	return s, compile()
}

// measure runs the side's bench for what depends on the runtime in it, and this program for what depends on bowline only.
func (s side) measure(ctx context.Context, o Options, dir, self string) (*report.Report, error) {
	all := &report.Report{}
	for _, part := range []struct{ bench, what string }{{self, "start,floor"}, {s.bench, "objects"}} {
		file := filepath.Join(dir, "report.json")
		flags := append([]string{"--bowline", s.bowline, "--measure", part.what, "--json", file}, o.Flags...)
		if err := run(ctx, ".", part.bench, flags...); err != nil {
			return nil, err
		}
		r, err := report.Read(file)
		if err != nil {
			return nil, err
		}
		if all.Settings == nil {
			all.Settings = r.Settings
		}
		all.Figures = append(all.Figures, r.Figures...)
	}
	return all, nil
}

// run runs a program, with its output on standard error.
func run(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it stops its servers and removes its files
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w", strings.Join(append([]string{filepath.Base(program)}, args[:min(2, len(args))]...), " "), err)
	}
	return nil
}
