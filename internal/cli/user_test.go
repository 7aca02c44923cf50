// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

// TestUser makes a team on a control plane to which the roles come as they come to a cluster: as YAML.
func TestUser(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	m.start("The API server is ready", "apiserver", "--data-dir", dir, "--listen", "127.0.0.1:0")
	admin := controlplane.KubeconfigPath(dir)
	file := filepath.Join(t.TempDir(), "shop.kubeconfig")
	create := []string{"user", "create", "shop", "--namespace", "shop", "--kubeconfig", admin, "-o", file}

	if got := m.run(create...); got.code != exitError || !strings.Contains(got.err, "bowline rbac | kubectl apply") {
		t.Errorf("without roles: %s", got)
	}
	roles := filepath.Join(t.TempDir(), "roles.yaml")
	if err := os.WriteFile(roles, []byte(m.must("rbac")), 0o600); err != nil {
		t.Fatal(err)
	}
	m.must("kubectl", "apply", "-f", roles)

	if got := m.must(create...); !strings.Contains(got, "created now") || !strings.Contains(got, "user renew shop --kubeconfig "+admin) {
		t.Errorf("create prints:\n%s", got)
	}
	first := read(t, file)
	m.must("kubectl", "--kubeconfig", file, "get", "secrets")
	if got := m.must(append(create, "--role", "view")...); !strings.Contains(got, "role view") || strings.Contains(got, "created now") {
		t.Errorf("a second create prints:\n%s", got)
	}
	if read(t, file) == first {
		t.Error("a second create did not write another token")
	}
	m.must("user", "renew", "shop", "-o", file, "--duration", "10m")
	var teams []team.Team
	if err := json.Unmarshal([]byte(m.must("user", "list", "-o", "json")), &teams); err != nil || len(teams) != 1 || teams[0].Role != "view" {
		t.Errorf("list: %v, %v", teams, err)
	}
	if got := m.must("user", "list"); !strings.Contains(got, "shop") || !strings.Contains(got, "(in ") {
		t.Errorf("list prints:\n%s", got)
	}
	if got := m.run("user", "list", "--kubeconfig", file); got.code != exitError || !strings.Contains(got.err, "needs an administrator") {
		t.Errorf("the team lists teams: %s", got)
	}

	m.must("user", "revoke", "shop")
	if got := m.run("kubectl", "--kubeconfig", file, "get", "configmaps"); got.code == exitOK {
		t.Errorf("after revoke: %s", got)
	}
	for _, verb := range []string{"revoke", "renew"} {
		if got := m.run("user", verb, "shop"); got.code != exitError || !strings.Contains(got.err, `no team "shop"`) {
			t.Errorf("%s after revoke: %s", verb, got)
		}
	}
	if got := m.must("user", "list"); !strings.Contains(got, "There are no teams") {
		t.Errorf("list prints:\n%s", got)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	return string(content)
}

// A file that is not the team's own is never written over.
func TestUserKeepsOtherFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := func(current, user, secret string) string {
		return `{"current-context": "` + current + `", "users": [{"name": "` + user + `", "user": {"token": "` + secret + `"}}]}`
	}
	cases := map[string]struct {
		content string
		written bool
	}{
		"the team's":        {content: config("shop", "shop", "x"), written: true},
		"another team's":    {content: config("audit", "audit", "x")},
		"with another user": {content: config("shop", "me", "x")},
		"no kubeconfig":     {content: "important"},
		"empty":             {content: ""},
	}
	for name, tc := range cases {
		path := filepath.Join(folder, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := team.CheckOverwrite(path, "shop"); (err == nil) != tc.written {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := team.CheckOverwrite(filepath.Join(folder, "missing"), "shop"); err != nil {
		t.Error(err)
	}
	if err := team.CheckOverwrite(filepath.Join(folder, "no", "folder"), "shop"); err == nil || !strings.Contains(err.Error(), "choose another file") {
		t.Errorf("a folder that is missing: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != len(cases) {
		t.Errorf("%d files are left of %d: %v", len(left), len(cases), err)
	}
}
