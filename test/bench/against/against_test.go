// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package against

import (
	"os/exec"
	"strings"
	"testing"
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
