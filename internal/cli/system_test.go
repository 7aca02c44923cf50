// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

// TestLife follows one server from its first start to its end, as its user would.
func TestLife(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()

	t.Run("down before the first start", func(t *testing.T) {
		if got := m.run("status", "--data-dir", dir, "-o", "json"); got.code != exitError || parseStatus(t, got.out).Running {
			t.Error(got)
		}
		if got := m.must("down", "--data-dir", dir); !strings.Contains(got, "Nothing runs on "+dir) {
			t.Errorf("down: %q", got)
		}
		if got := m.run("kubectl", "get", "namespaces"); got.code != exitError || !strings.Contains(got.err, "bowline up --detach") {
			t.Error(got)
		}
	})

	welcome := m.up(dir)
	if lines := strings.Count(welcome, "\n"); lines >= 10 || !strings.Contains(welcome, "export KUBECONFIG="+dir) {
		t.Errorf("up prints:\n%s", welcome)
	}
	first := checkRunning(t, m, dir)

	t.Run("kubectl", func(t *testing.T) { checkKubectl(t, m, dir) })
	t.Run("controllers are not the administrator", func(t *testing.T) { checkIdentity(t, m) })
	t.Run("cloud key", func(t *testing.T) { checkKey(t, m, dir, first) })
	t.Run("second up", func(t *testing.T) { checkSecondUp(t, m, dir, first.PID) })
	t.Run("files", func(t *testing.T) { checkModes(t, dir) })

	m.must("kubectl", "create", "namespace", "kept")
	m.kill(dir)
	if got := m.run("status", "--data-dir", dir); got.code != exitError || !strings.Contains(got.out, "Bowline is down") {
		t.Errorf("status after kill -9: %s", got)
	}
	m.up(dir)
	if second := checkRunning(t, m, dir); second.PID == first.PID {
		t.Errorf("process %d still runs after kill -9", second.PID)
	}
	m.must("kubectl", "get", "namespace", "kept")
	if got := m.must("down", "--data-dir", dir); !strings.Contains(got, "Stopped.") {
		t.Errorf("down: %q", got)
	}
	if got := m.run("status", "-o", "json", "--data-dir", dir); got.code != exitError || parseStatus(t, got.out).Running {
		t.Errorf("status after down: %s", got)
	}
}

// checkRunning returns the status of a server that runs, after comparing its three forms.
func checkRunning(t *testing.T, m *machine, dir string) status {
	t.Helper()
	s := parseStatus(t, m.must("status", "-o", "json"))
	if !s.Running || s.PID == 0 || s.Since == nil || time.Since(*s.Since) > time.Hour || s.Address == "" || s.Version == "" {
		t.Errorf("status: %+v", s)
	}
	counted := map[string]int{}
	for _, o := range s.Objects {
		counted[o.Kind] = o.Total
	}
	if total, ok := counted["FavouriteDBInstance"]; !ok || total != 0 {
		t.Errorf("status counts %v", counted)
	}
	var other status
	if err := yaml.Unmarshal([]byte(m.must("status", "-o", "yaml", "--data-dir", dir)), &other); err != nil || other.PID != s.PID {
		t.Errorf("status as YAML: %+v, %v", other, err)
	}
	if table := m.must("status"); !strings.Contains(table, s.Address) || !strings.Contains(table, "FavouriteDBInstance") {
		t.Errorf("status as table:\n%s", table)
	}
	return s
}

func parseStatus(t *testing.T, text string) status {
	t.Helper()
	var s status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("status is not JSON: %v\n%s", err, text)
	}
	if s.Objects == nil {
		t.Errorf("status has no list of objects:\n%s", text)
	}
	return s
}

// checkKubectl finds the server in each of the ways that a person may name it.
func checkKubectl(t *testing.T, m *machine, dir string) {
	byVariable := *m
	byVariable.env = append(byVariable.env[:len(byVariable.env):len(byVariable.env)], datadir.Variable+"="+dir)
	ways := map[string]func() string{
		"only server": func() string { return m.must("kubectl", "get", "namespaces", "-o", "name") },
		"flag before": func() string { return m.must("--data-dir", dir, "kubectl", "get", "namespaces", "-o", "name") },
		"flag after":  func() string { return m.must("kubectl", "--data-dir="+dir, "get", "namespaces", "-o", "name") },
		"variable":    func() string { return byVariable.must("kubectl", "get", "namespaces", "-o", "name") },
		"own kubeconfig": func() string {
			return m.must("kubectl", "--kubeconfig", filepath.Join(dir, "admin.kubeconfig"), "get", "ns", "-o", "name")
		},
	}
	for name, list := range ways {
		if got := list(); !strings.Contains(got, "namespace/"+plane.SystemNamespace) {
			t.Errorf("%s: kubectl lists %q", name, got)
		}
	}
	if got := m.run("kubectl", "--data-dir", dir+"-other", "get", "namespaces"); got.code != exitError || !strings.Contains(got.err, "--data-dir "+dir) {
		t.Errorf("an error does not name what runs: %s", got)
	}
	if got := m.run("kubectl", "--kubeconfig", "/nonexistent", "get", "namespaces"); got.code == exitOK {
		t.Errorf("an explicit kubeconfig was ignored: %s", got)
	}
	if got := m.must("kubectl", "version"); !strings.Contains(got, "Server Version: v1.") {
		t.Errorf("kubectl version: %q", got)
	}
}

// checkIdentity checks the rights of the controllers' service account.
func checkIdentity(t *testing.T, m *machine) {
	token := strings.TrimSpace(m.must("kubectl", "create", "token", plane.ControllersAccount, "-n", plane.SystemNamespace))
	s := parseStatus(t, m.must("status", "-o", "json"))
	as := []string{"kubectl", "--kubeconfig", os.DevNull, "--server", "https://" + s.Address,
		"--certificate-authority", caFile(t, m), "--token", token}
	cases := map[string]struct {
		question []string
		want     string
	}{
		"their kinds":         {[]string{"auth", "can-i", "patch", "favouritedbinstances.database.fcp.crossplane.io/x", "--subresource=status"}, "yes"},
		"connection secrets":  {[]string{"auth", "can-i", "create", "secrets", "-n", "default"}, "yes"},
		"leases of their own": {[]string{"auth", "can-i", "update", "leases.coordination.k8s.io", "-n", plane.SystemNamespace}, "yes"},
		"leases of others":    {[]string{"auth", "can-i", "update", "leases.coordination.k8s.io", "-n", "default"}, "no"},
		"definitions":         {[]string{"auth", "can-i", "create", "customresourcedefinitions"}, "no"},
		"roles":               {[]string{"auth", "can-i", "create", "clusterroles"}, "no"},
		"everything":          {[]string{"auth", "can-i", "*", "*"}, "no"},
	}
	for name, tc := range cases {
		if got := m.run(append(as, tc.question...)...); strings.TrimSpace(got.out) != tc.want {
			t.Errorf("%s: want %s, got %s", name, tc.want, got)
		}
	}
	if got := m.must(append(as, "auth", "whoami")...); !strings.Contains(got, "system:serviceaccount:"+plane.SystemNamespace+":"+plane.ControllersAccount) {
		t.Errorf("the token is that of %s", got)
	}
}

// caFile writes the server's authority to a file.
func caFile(t *testing.T, m *machine) string {
	t.Helper()
	content := m.must("kubectl", "get", "configmap", "kube-root-ca.crt", "-n", "default", "-o", `jsonpath={.data.ca\.crt}`)
	path := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkKey wants the key alone on the standard output, and a cloud that takes it.
func checkKey(t *testing.T, m *machine, dir string, s status) {
	key := m.must("cloud", "key", "create", "--project", "demo")
	if !regexp.MustCompile(`^\S+\n$`).MatchString(key) {
		t.Fatalf("the key is not alone on one line: %d bytes", len(key))
	}
	state, ok := datadir.ReadRunFile(dir, s.PID)
	if !ok {
		t.Fatal("no run file")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, state.Cloud+"/v1/projects/demo/database/instances", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the cloud answers %s to a fresh key", answer.Status)
	}
	if log, err := os.ReadFile(datadir.LogPath(dir)); err != nil || strings.Contains(string(log), strings.TrimSpace(key)) {
		t.Errorf("the log holds the key, or cannot be read: %v", err)
	}
}

func checkSecondUp(t *testing.T, m *machine, dir string, pid int) {
	arguments := []string{"up", "--data-dir", dir, "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0"}
	got := m.run(arguments...)
	for _, part := range []string{fmt.Sprintf("process %d", pid), "bowline down --data-dir " + dir} {
		if got.code != exitError || !strings.Contains(got.err, part) {
			t.Errorf("the error of a second up has no %q: %s", part, got)
		}
	}
	if got := m.must(append(arguments, "--detach")...); !strings.Contains(got, "already runs") {
		t.Errorf("a second up --detach prints %q", got)
	}
}

// checkModes checks that files with secrets are private.
func checkModes(t *testing.T, dir string) {
	for _, name := range []string{"admin.kubeconfig", "bowline.log", "run.json", "cloud/admin.token"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder: %v, %v", info, err)
	}
}
