// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/internal/cli/team"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// TestParts runs the three parts as programs of their own.
func TestParts(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	kubeconfig := controlplane.KubeconfigPath(dir)
	stopServer := m.start("The API server is ready", "apiserver", "--data-dir", dir, "--listen", "127.0.0.1:0")
	stopCloud := m.start("The local cloud is ready", "cloud", "--data-dir", dir, "--cloud-listen", "127.0.0.1:0", "--cloud-admin")
	stopControllers := m.start("The controllers work", "controllers", "--kubeconfig", kubeconfig, "--leader-elect")

	m.run("kubectl", "get", "crd", "-o", "name").want(t, exitOK, "favouritedbinstances", "")
	lease := m.must("kubectl", "get", "lease", "bowline-sql", "-n", plane.SystemNamespace, "-o", "jsonpath={.spec.holderIdentity}")
	if lease == "" {
		t.Error("the controllers' lease has no holder")
	}
	if key := m.must("cloud", "key", "create", "--project", "demo"); key == "" {
		t.Error("no key")
	}
	check(t, m.setFaults(dir))
	t.Run("users", func(t *testing.T) { checkUsers(t, m, kubeconfig) })
	claim := filepath.Join("..", "..", "examples", "quickstart", "claim.yaml")
	m.must("kubectl", "apply", "-n", "shop", "-f", claim)
	m.run("status", "--data-dir", dir).want(t, exitOK, "Ready since", "")
	if got := m.run("status", "--data-dir", dir); strings.Contains(got.out, "nothing is reconciled") {
		t.Errorf("the controllers run, but: %s", got)
	}
	stopControllers()
	m.run("status", "--data-dir", dir).want(t, exitOK, "nothing is reconciled", "")
	of := filepath.Join(t.TempDir(), "shop.kubeconfig")
	m.must("user", "create", "shop", "--namespace", "shop", "--kubeconfig", kubeconfig, "-o", of)
	m.run("why", "postgresqlinstance/orders", "--kubeconfig", of).want(t, exitOK, "No controllers have run since", "")
	stopCloud()
	stopServer()
	m.run("down", "--data-dir", dir).want(t, exitOK, "Nothing runs", "")
}

// The controllers of the restored folder would change the servers of the original.
func TestRestoredFolderStartsWithItsCloud(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	check(t, errors.Join(os.MkdirAll(dir, 0o700), datadir.Restored{Cloud: "http://127.0.0.1:7070"}.Write(dir)))
	for _, tc := range []struct{ command, want string }{
		{"apiserver", "start it once with: bowline up"}, {"up --cloud=false", "needs the local cloud"},
	} {
		m.run(append(strings.Fields(tc.command), "--data-dir", dir, "--listen", "127.0.0.1:0")...).want(t, exitError, "", tc.want)
		if _, restored, err := datadir.ReadRestored(dir); err != nil || !restored {
			t.Errorf("after %s the next start would not point the objects at their own servers: %v", tc.command, err)
		}
	}
}

// checkUsers creates a team on a control plane that gets the roles as a cluster does: as YAML.
func checkUsers(t *testing.T, m *machine, admin string) {
	file := filepath.Join(t.TempDir(), "shop.kubeconfig")
	create := []string{"user", "create", "shop", "--namespace", "shop", "--kubeconfig", admin, "-o", file}
	m.run(create...).want(t, exitError, "", "bowline rbac | kubectl apply")
	m.apply(m.must("rbac"))

	got := m.run(create...)
	got.want(t, exitOK, "created now", "")
	got.want(t, exitOK, "user renew shop --kubeconfig "+admin, "")
	first := readFile(t, file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v, %v", info, err)
	}
	m.must("kubectl", "--kubeconfig", file, "get", "secrets")
	if got := m.must(append(create, "--role", "view")...); !strings.Contains(got, "role view") || strings.Contains(got, "created now") {
		t.Errorf("a second create prints:\n%s", got)
	}
	if readFile(t, file) == first {
		t.Error("a second create did not write another token")
	}
	m.must("user", "renew", "shop", "-o", file, "--duration", "10m")
	var teams []team.Team
	if err := json.Unmarshal([]byte(m.must("user", "list", "-o", "json")), &teams); err != nil || len(teams) != 1 || teams[0].Role != "view" {
		t.Errorf("list: %v, %v", teams, err)
	}
	m.run("user", "list").want(t, exitOK, "(in ", "")
	m.run("user", "list", "--kubeconfig", file).want(t, exitError, "", "needs an administrator")

	m.must("user", "revoke", "shop")
	if got := m.run("kubectl", "--kubeconfig", file, "get", "configmaps"); got.code == exitOK {
		t.Errorf("after revoke: %s", got)
	}
	for _, verb := range []string{"revoke", "renew"} {
		m.run("user", verb, "shop").want(t, exitError, "", `no team "shop"`)
	}
	m.run("user", "list").want(t, exitOK, "There are no teams", "")

	printed := m.must("user", "create", "other", "--namespace", "other", "--kubeconfig", admin, "-o", "-")
	if _, err := clientcmd.Load([]byte(printed)); err != nil || !strings.Contains(printed, "kind: Config") {
		t.Errorf("the kubeconfig on standard output: %v", err)
	}
	if _, err := os.Stat("-"); err == nil {
		t.Error("there is a file with the name -")
	}
	m.must("kubectl", "delete", "namespace", "other", "--wait=false")
	m.run("user", "revoke", "other").want(t, exitOK, "Its objects in namespace other stay", "")
}

// TestProgramHasPartsOfItsOwn runs the controllers of a program whose only provider and whose transport are the test's.
func TestProgramHasPartsOfItsOwn(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	check(t, os.WriteFile(kubeconfig, []byte(`{"clusters": [{"name": "c", "cluster": {"server": "http://nowhere.invalid"}}],
		"contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}`), 0o600))
	asked := ""
	p := Program{
		Providers: []provider.Provider{{Name: "theirs", CRDs: fstest.MapFS{"theirs.yaml": &fstest.MapFile{Data: []byte(
			`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "theirs.example.org"}}`)}}}},
		WrapTransport: fault.Intercept(&rest.Config{}, func(r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			asked = r.URL.Path
			return nil, errors.New("the wrapped transport refuses")
		}).WrapTransport,
	}
	var stderr strings.Builder
	code := p.Run(t.Context(), []string{"bowline", "controllers", "--kubeconfig", kubeconfig}, Streams{Out: &stderr, Err: &stderr})
	if code != exitError || !strings.Contains(stderr.String(), "the wrapped transport refuses") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if !strings.HasSuffix(asked, "/theirs.example.org") {
		t.Errorf("asked for %q, not for the program's own definition", asked)
	}
}
