// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package against

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/test/bench/report"
)

func TestFindCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, command := range []string{
		"init --quiet", "-c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message first", "tag v1",
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, strings.Fields(command)...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", command, err, out)
		}
	}
	head, err := findCommit(t.Context(), dir, "HEAD")
	if err != nil || len(head) != 40 {
		t.Fatalf("HEAD is %q, %v", head, err)
	}
	for ref, want := range map[string]string{"v1": head, head[:8]: head, "v2": "", "": "", "--all": "", "766af06": ""} {
		got, err := findCommit(t.Context(), dir, ref)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", ref, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), "there is no commit \""+ref+"\" in this clone") {
			t.Error(err)
		}
	}
}

func TestHas(t *testing.T) {
	t.Parallel()
	const help = "Flags:\n      --latency duration   how long (default 0s)\n      --objects int        how many\n"
	got := has(help, []string{"--objects=3", "--latency=1s", "--object=2", "--kinds=7"})
	if want := []string{"--objects=3", "--latency=1s"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCombine(t *testing.T) {
	t.Parallel()
	measured := func(poll, seconds float64) *report.Report {
		r := &report.Report{}
		r.Add("idle", "seconds between polls", poll)
		r.Add("create", "seconds", seconds)
		r.Add("restart", "controllers: CPU seconds", seconds)
		return r
	}
	before, after := combine([]*report.Report{measured(1, 2), {}, measured(1, 4)}, []*report.Report{{}, measured(12, 6)})
	for _, tc := range []struct {
		r           *report.Report
		phase, name string
		want        float64
	}{
		{before, "create", "seconds", 3}, {after, "create", "seconds", 6}, {before, "idle", "seconds between polls", 0},
		{before, "restart", "controllers: CPU seconds", 0}, {before, "restart, from another moment", "controllers: CPU seconds", 3},
		{before, "idle, polled at another rate", "seconds between polls", 1}, {after, "idle", "seconds between polls", 12},
	} {
		if got, _ := tc.r.Get(tc.phase, tc.name); got != tc.want {
			t.Errorf("%s: %s is %v, want %v", tc.phase, tc.name, got, tc.want)
		}
	}
}
