// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

// TestLife follows one server from its first start to its end, as its user would.
func TestLife(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	t.Run("down before the first start", func(t *testing.T) {
		m.run("status", "--data-dir", dir, "-o", "json").want(t, exitError, `"running": false`, "")
		m.run("down", "--data-dir", dir).want(t, exitOK, "Nothing runs on "+dir, "")
		m.run("kubectl", "get", "namespaces").want(t, exitError, "", "bowline up --detach")
	})

	welcome := m.up(dir, "--metrics-listen", "127.0.0.1:0")
	if lines := strings.Count(welcome, "\n"); lines >= 10 || !strings.Contains(welcome, "export KUBECONFIG="+dir) {
		t.Errorf("up prints:\n%s", welcome)
	}
	t.Run("kinds without objects are not watched (N83)", func(t *testing.T) { checkIdle(t, m, dir) })
	first := checkRunning(t, m, dir)
	t.Run("unhealthy", func(t *testing.T) { checkUnhealthy(t, m, dir) })
	t.Run("kubectl", func(t *testing.T) { checkKubectl(t, m, dir) })
	t.Run("controllers are not the administrator", func(t *testing.T) { checkIdentity(t, m, first.Address) })
	t.Run("second up", func(t *testing.T) { checkSecondUp(t, m, dir, first.PID) })
	t.Run("files", func(t *testing.T) { checkModes(t, dir) })
	if err := m.setFaults(dir); !sdk.IsNotFound(err) {
		t.Errorf("injecting faults without --cloud-admin: %v", err)
	}
	m.must("kubectl", "create", "namespace", "kept")
	database := checkCloud(t, m, dir, first.PID)

	m.kill(dir)
	m.run("status", "--data-dir", dir).want(t, exitError, "Bowline is down", "")
	if !accepts(database) {
		t.Fatalf("the database server at %s died with the cloud: this test would prove nothing", database)
	}
	m.run("down", "--data-dir", dir).want(t, exitOK, "left behind", "")
	if accepts(database) {
		t.Errorf("the database server at %s still runs after down", database)
	}
	down, elsewhere := m.run("down", "--data-dir", dir), favouritecloud.InstancesElsewhere(datadir.CloudDir(dir))
	down.want(t, exitOK, "Nothing runs", "")
	if root := os.Geteuid() == 0; root != (elsewhere != "") || !strings.Contains(down.out, elsewhere) {
		t.Errorf("servers in %q: %s", elsewhere, down)
	}

	interrupt := m.start("Bowline is ready", "up", "--data-dir", dir, "--metrics-listen", "127.0.0.1:0", "--cloud=false")
	if second := checkRunning(t, m, dir); second.PID == first.PID || second.Address != first.Address || second.Metrics != first.Metrics {
		t.Errorf("after kill -9, process %d is at %s and %s, not at %s and %s", second.PID, second.Address, second.Metrics, first.Address, first.Metrics)
	}
	m.must("kubectl", "get", "namespace", "kept")
	m.run("cloud", "key", "create", "--project", "demo").want(t, exitError, "", "no local cloud runs")
	interrupt()
	if pid, ok := controlplane.Holder(dir); ok {
		t.Errorf("process %d holds the lock after Ctrl-C", pid)
	}
	m.run("status", "-o", "json", "--data-dir", dir).want(t, exitError, `"running": false`, "")
}

func checkIdle(t *testing.T, m *machine, dir string) {
	if running := regexp.MustCompile(`workqueue_adds_total\{.*crossplane.io.*`).FindAllString(m.metrics(t, dir), -1); running != nil {
		t.Errorf("controllers without objects run: %s", running)
	}
	metrics := m.must("kubectl", "get", "--raw", "/metrics")
	watches := regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*\bgroup="([^"]*)",resource="([^"]*)"`).FindAllStringSubmatch(metrics, -1)
	if len(watches) == 0 {
		t.Error("no watch is counted")
	}
	for _, watch := range watches {
		if watch[2] == "terraformproviders" { // by the API server itself, as the parameters of an admission policy
			continue
		}
		if group := watch[1]; strings.HasSuffix(group, "crossplane.io") || strings.HasSuffix(group, "bowline.dev") {
			t.Errorf("%s.%s is watched", watch[2], group)
		}
	}
}

// checkRunning returns the status of a server that runs, after comparing its three forms.
func checkRunning(t *testing.T, m *machine, dir string) status {
	t.Helper()
	var s, other status
	check(t, json.Unmarshal([]byte(m.must("status", "-o", "json")), &s))
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
	if err := yaml.Unmarshal([]byte(m.must("status", "-o", "yaml", "--data-dir", dir)), &other); err != nil || other.PID != s.PID {
		t.Errorf("status as YAML: %+v, %v", other, err)
	}
	if table := m.must("status"); !strings.Contains(table, s.Address) || strings.Contains(table, "FavouriteDBInstance") {
		t.Errorf("status as table:\n%s", table)
	}
	return s
}

// checkUnhealthy has a claim that no class serves.
func checkUnhealthy(t *testing.T, m *machine, dir string) {
	m.apply("{apiVersion: database.crossplane.io/v1alpha1, kind: MySQLInstance, metadata: {name: orders, namespace: default}, spec: {}}")
	m.must("kubectl", "wait", "mysql", "orders", "--for", "condition=Ready=False")
	var s status
	check(t, json.Unmarshal([]byte(m.must("status", "-o", "json")), &s))
	if len(s.Unhealthy) != 1 || !strings.Contains(s.Unhealthy[0].Message, "no default class") {
		t.Errorf("unhealthy: %+v", s.Unhealthy)
	}
	want := []unhealthy{{Kind: "mysqlinstance.database.crossplane.io", Namespace: "default", Name: "orders", Reason: "NoMatchingClass"}}
	if diff := cmp.Diff(want, s.Unhealthy, cmpopts.IgnoreFields(unhealthy{}, "Message")); diff != "" {
		t.Errorf("unhealthy -want +got:\n%s", diff)
	}
	for _, url := range []string{s.Cloud, s.Metrics} {
		if response, err := http.Get(url); err != nil {
			t.Errorf("status has the address %q: %v", url, err)
		} else {
			check(t, response.Body.Close())
		}
	}
	table := m.must("status")
	cause, count := strings.Index(table, "mysqlinstance.database.crossplane.io/orders"), strings.Index(table, "MySQLInstance ")
	if cause < 0 || count < cause || !strings.Contains(table, s.Cloud) || !strings.Contains(table, s.Metrics) {
		t.Errorf("status as table:\n%s", table)
	}
	m.must("kubectl", "delete", "mysql", "orders")
}

// checkKubectl finds the server in each of the ways that a person may name it.
func checkKubectl(t *testing.T, m *machine, dir string) {
	byVariable := &machine{t: t, env: append(m.env[:len(m.env):len(m.env)], datadir.Variable+"="+dir)}
	list := []string{"get", "namespaces", "-o", "name"}
	for name, got := range map[string]string{
		"only server":    m.must(append([]string{"kubectl"}, list...)...),
		"flag before":    m.must(append([]string{"--data-dir", dir, "kubectl"}, list...)...),
		"flag after":     m.must(append([]string{"kubectl", "--data-dir=" + dir}, list...)...),
		"variable":       byVariable.must(append([]string{"kubectl"}, list...)...),
		"own kubeconfig": m.must(append([]string{"kubectl", "--kubeconfig", controlplane.KubeconfigPath(dir)}, list...)...),
	} {
		if !strings.Contains(got, "namespace/"+plane.SystemNamespace) {
			t.Errorf("%s: kubectl lists %q", name, got)
		}
	}
	m.run("kubectl", "--data-dir", dir+"-other", "get", "namespaces").want(t, exitError, "", "--data-dir "+dir)
	if got := m.run("kubectl", "--kubeconfig", "/nonexistent", "get", "namespaces"); got.code == exitOK {
		t.Errorf("an explicit kubeconfig was ignored: %s", got)
	}
}

// checkIdentity checks the rights of the controllers' service account.
func checkIdentity(t *testing.T, m *machine, address string) {
	token := strings.TrimSpace(m.must("kubectl", "create", "token", plane.ControllersAccount, "-n", plane.SystemNamespace))
	ca := filepath.Join(t.TempDir(), "ca.crt")
	authority := m.must("kubectl", "get", "configmap", "kube-root-ca.crt", "-n", "default", "-o", `jsonpath={.data.ca\.crt}`)
	check(t, os.WriteFile(ca, []byte(authority), 0o600))
	as := []string{"kubectl", "--kubeconfig", os.DevNull, "--server", "https://" + address, "--certificate-authority", ca, "--token", token, "auth"}
	for question, want := range map[string]string{
		"patch favouritedbinstances.database.fcp.crossplane.io/x --subresource=status": "yes",
		"create secrets -n default":                                     "yes",
		"update leases.coordination.k8s.io -n " + plane.SystemNamespace: "yes",
		"update leases.coordination.k8s.io -n default":                  "no",
		"create customresourcedefinitions":                              "yes", // of Terraform providers, as an admission policy limits it
		"delete customresourcedefinitions":                              "no",
		"create clusterroles":                                           "no",
		"* *":                                                           "no",
	} {
		if got := m.run(append(append(as, "can-i"), strings.Fields(question)...)...); strings.TrimSpace(got.out) != want {
			t.Errorf("%s: want %s, got %s", question, want, got)
		}
	}
	account := "system:serviceaccount:" + plane.SystemNamespace + ":" + plane.ControllersAccount
	m.run(append(as, "whoami")...).want(t, exitOK, account, "")
}

// checkCloud wants the key alone on the standard output, and a cloud that accepts it. It returns the address of a database server.
func checkCloud(t *testing.T, m *machine, dir string, pid int) string {
	t.Helper()
	key := m.must("cloud", "key", "create", "--project", "demo")
	if !regexp.MustCompile(`^\S+\n$`).MatchString(key) {
		t.Fatalf("the key is not alone on one line: %d bytes", len(key))
	}
	key = strings.TrimSpace(key)
	state, ok := datadir.ReadRunFile(dir, pid)
	if !ok {
		t.Fatal("no run file")
	}
	// Where PostgreSQL's account cannot enter the folder, the cloud keeps its databases elsewhere, behind a link.
	instances, err := filepath.EvalSymlinks(filepath.Join(datadir.CloudDir(dir), "instances"))
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(instances) })
	cloud, err := sdk.NewClient(sdk.Config{Endpoint: state.Cloud, Project: "demo", APIKey: key})
	check(t, err)
	databases := database.NewClient(cloud)
	_, err = databases.Create(t.Context(), database.CreateInstanceInput{Name: "kept", FancinessLevel: 10})
	check(t, err)
	var instance *database.Instance
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		instance, err = databases.Get(ctx, "kept")
		return err == nil && instance.Status == sdk.StatusOnline, err
	})
	if err != nil {
		t.Fatalf("waiting for the instance: %v; it is %+v", err, instance)
	}
	if strings.Contains(readFile(t, datadir.LogPath(dir)), key) {
		t.Error("the log contains the key")
	}
	return net.JoinHostPort(instance.Hostname, strconv.Itoa(instance.Port))
}

// accepts reports whether a server listens.
func accepts(address string) bool {
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return false
	}
	connection.Close()
	return true
}

func checkSecondUp(t *testing.T, m *machine, dir string, pid int) {
	arguments := []string{"up", "--data-dir", dir, "--listen", "127.0.0.1:0", "--cloud-listen", "127.0.0.1:0"}
	got := m.run(arguments...)
	got.want(t, exitError, "", fmt.Sprintf("process %d", pid))
	got.want(t, exitError, "", "bowline down --data-dir "+dir)
	got = m.run(append(arguments, "--detach")...)
	if got.want(t, exitOK, "already runs", ""); strings.Contains(got.out, "Waiting") {
		t.Errorf("a server that serves is waited for: %s", got)
	}
}

// checkModes checks that files with secrets are private.
func checkModes(t *testing.T, dir string) {
	for name, want := range map[string]os.FileMode{
		"": 0o700 | os.ModeDir, "admin.kubeconfig": 0o600, "bowline.log": 0o600, "run.json": 0o600, "cloud/admin.token": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
}

// TestTwoServers starts a second server on the first one's port, then on another, in a folder that exists and is empty.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first, parent := m.dataDir(), m.dataDir()
	m.up(first, "--cloud=false")
	address := checkRunning(t, m, first).Address
	second, used := filepath.Join(parent, "empty folder"), filepath.Join(parent, "used")
	check(t, os.MkdirAll(second, 0o755))
	check(t, os.MkdirAll(filepath.Join(used, "photos"), 0o755))
	for _, detach := range []string{"--detach=false", "--detach"} {
		got := m.run("up", "--data-dir", second, "--listen", address, "--cloud=false", detach)
		got.want(t, exitError, "", address)
		got.want(t, exitError, "", "--listen")
		m.run("up", "--data-dir", used, detach).want(t, exitError, "", "holds other files")
	}
	m.run("cloud", "--data-dir", used).want(t, exitError, "", "holds other files")
	if entries, err := os.ReadDir(used); err != nil || len(entries) != 1 {
		t.Errorf("a folder with other files now has %v (%v)", entries, err)
	}
	m.up(second, "--cloud=false")
	got := m.run("status")
	got.want(t, exitError, "", first)
	got.want(t, exitError, "", second)
	m.run("down", "--data-dir", second).want(t, exitOK, "Stopped.", "")
}

// A killed server holds its folder until the kernel has ended its threads, which may wait for the disk.
func TestUpWaitsForProcessThatEnds(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"up": {"up", "--cloud=false"}, "up in the background": {"up", "--detach"}, "apiserver": {"apiserver"},
	} {
		t.Run(name+": hangs", func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			dir := m.dataDir()
			holder := hold(t, dir, 0)
			m.run(append(args, "--data-dir", dir)...).
				want(t, exitError, "Waiting for process", fmt.Sprintf("already runs on %s (process %d)", dir, holder.Pid))
			check(t, holder.Kill())
		})
	}
	for name, delay := range map[string]time.Duration{"ends": 0, "has not written its id yet": 100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if pid, err := awaitEnd(t.Context(), killer{hold(t, dir, delay)}, dir); pid != 0 || err != nil {
				t.Errorf("process %d, %v", pid, err)
			}
		})
	}
}

// A killer ends a process when it is reported.
type killer struct{ *os.Process }

func (k killer) Write(b []byte) (int, error) { return len(b), k.Kill() }

// hold starts a process that holds a data folder and does not serve. Its id appears in the folder after a delay.
func hold(t *testing.T, dir string, delay time.Duration) *os.Process {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	check(t, err)
	check(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	holder := exec.Command("sleep", "600")
	holder.ExtraFiles = []*os.File{lock} // which shares the lock
	check(t, errors.Join(holder.Start(), lock.Close()))
	t.Cleanup(func() { _ = errors.Join(holder.Process.Kill(), holder.Wait()) })
	write := func() { _ = os.WriteFile(lock.Name(), []byte(strconv.Itoa(holder.Process.Pid)+"\n"), 0o600) }
	if delay > 0 {
		time.AfterFunc(delay, write)
	} else {
		write()
	}
	return holder.Process
}
