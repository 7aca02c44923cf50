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
	"slices"
	"strings"
	"syscall"

	"github.com/bowline-dev/bowline/test/bench/report"
)

// Options of a comparison.
type Options struct {
	Bowline string   // the program of this tree
	Rounds  int      // how often to measure both
	Flags   []string // of the benches of both, as --name=value; those that a bench does not have are left out

	// Program and Runtime are what to measure: what depends on bowline only, which this bench measures for both, and what depends on
	// the runtime in the bench.
	Program, Runtime []string
}

// objects are the only part that other commits' own benches know of what depends on the runtime.
const objects = "objects"

// A side is one of the two commits that are compared.
type side struct {
	name, bench, bowline string
	own                  bool // the bench is the other commit's own
}

// Measure measures another commit and the programs of this one, in turn so that what the machine does besides affects both. It returns
// the means, also with an error: what one measurement lacks does not spoil the others.
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
	other.name = ref
	var all [2][]*report.Report
	var failures []error
	for round := range o.Rounds {
		for i, s := range []side{other, {name: "this tree", bench: self, bowline: o.Bowline}} {
			fmt.Fprintf(os.Stderr, "Round %d of %d: %s\n", round+1, o.Rounds, s.name)
			r, err := s.measure(ctx, o, dir, self)
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			all[i], failures = append(all[i], r), append(failures, err)
		}
	}
	before, after = combine(all[0], all[1])
	return before, after, errors.Join(failures...)
}

// combine returns the means of each side. The phases idle and restart get another name where the other bench measured them differently.
func combine(others, ours []*report.Report) (before, after *report.Report) {
	before, after = report.Mean(others), report.Mean(ours)
	if !report.SamePolls(before, after) {
		before.Rename("idle", "idle, polled at another rate")
	}
	if _, ok := before.Get("restart", "seconds from start to all observed"); !ok {
		before.Rename("restart", "restart, from another moment")
	}
	before.AddRatios()
	after.AddRatios()
	return before, after
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
	s := side{bench: filepath.Join(tree, "bin", "bench"), bowline: filepath.Join(tree, "bin", "bowline")}
	if err := run(ctx, tree, "make", "--no-print-directory", "build"); err != nil {
		return s, err
	}
	sources := filepath.Join(tree, "test", "bench")
	compile := func() *exec.Cmd {
		return command(ctx, tree, "go", "build", "-buildvcs=false", "-o", s.bench, "./test/bench")
	}
	if err := errors.Join(os.RemoveAll(sources), os.CopyFS(sources, os.DirFS(filepath.Join("test", "bench")))); err != nil {
		return s, err
	}
	if _, err := compile().CombinedOutput(); err == nil {
		return s, nil
	}
	fmt.Fprintln(os.Stderr, "The bench of this tree does not compile there: the other commit's own bench measures its objects.")
	s.own = true
	if err := os.RemoveAll(sources); err != nil {
		return s, err
	}
	if err := run(ctx, tree, "git", "checkout", "--quiet", "HEAD", "--", "test/bench"); err != nil {
		return s, fmt.Errorf("it has no bench: %w", err)
	}
	if out, err := compile().CombinedOutput(); err != nil {
		return s, fmt.Errorf("its bench does not compile: %w: %s", err, out)
	}
	return s, nil
}

// measure runs the side's bench for what depends on the runtime in it, and this program for what depends on bowline only. It returns what
// it has, also with an error.
func (s side) measure(ctx context.Context, o Options, dir, self string) (*report.Report, error) {
	all := &report.Report{}
	var failures []error
	runtime := o.Runtime
	if s.own {
		runtime = slices.DeleteFunc(slices.Clone(runtime), func(part string) bool { return part != objects })
	}
	for _, part := range []struct {
		bench string
		what  []string
	}{{self, o.Program}, {s.bench, runtime}} {
		if len(part.what) == 0 {
			continue
		}
		r, err := s.run(ctx, part.bench, part.what, o.Flags, filepath.Join(dir, "report.json"))
		if err != nil {
			failures = append(failures, fmt.Errorf("measuring %s of %s: %w", strings.Join(part.what, ", "), s.name, err))
			continue
		}
		if all.Settings == nil {
			all.Settings = r.Settings
		}
		all.Figures = append(all.Figures, r.Figures...)
	}
	return all, errors.Join(failures...)
}

// run runs a bench with those of the flags that it has.
func (s side) run(ctx context.Context, bench string, what, flags []string, file string) (*report.Report, error) {
	help, err := command(ctx, ".", bench, "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("running %s --help: %w", filepath.Base(bench), err)
	}
	cmd := command(ctx, ".", bench, append(has(string(help), flags), "--bowline", s.bowline, "--measure", strings.Join(what, ","), "--json", file)...)
	cmd.Stderr = os.Stderr // its progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running %s: %w", filepath.Base(bench), err)
	}
	return report.Read(file)
}

// has returns the flags that a help text lists.
func has(help string, flags []string) (known []string) {
	for _, flag := range flags {
		if name, _, _ := strings.Cut(flag, "="); slices.Contains(strings.Fields(help), name) {
			known = append(known, flag)
		}
	}
	return known
}

func command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it stops its servers and removes its files
	return cmd
}

// run runs a program, with its output on standard error.
func run(ctx context.Context, dir, program string, args ...string) error {
	cmd := command(ctx, dir, program, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s: %w", strings.Join(append([]string{filepath.Base(program)}, args[:min(2, len(args))]...), " "), err)
	}
	return nil
}
