// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// TestDownAfterKill wants no database server to survive `down`, though the process that started it was killed before.
func TestDownAfterKill(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	m.up(dir)
	address := m.createDatabase(dir)
	// Where PostgreSQL's account cannot reach the folder, the cloud keeps its databases elsewhere, behind a link.
	databases, err := filepath.EvalSymlinks(filepath.Join(datadir.CloudDir(dir), "instances"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(databases) })
	m.kill(dir)
	if !accepts(address) {
		t.Fatalf("the database server at %s died with the cloud: this test would prove nothing", address)
	}
	if got := m.must("down", "--data-dir", dir); !strings.Contains(got, "left behind") {
		t.Errorf("down prints %q", got)
	}
	if accepts(address) {
		t.Errorf("the database server at %s still runs after down", address)
	}
	if got := m.must("down", "--data-dir", dir); !strings.Contains(got, "Nothing runs") {
		t.Errorf("a second down prints %q", got)
	}
}

// createDatabase makes an instance through the cloud's API and returns its address when its server is online.
func (m *machine) createDatabase(dataDir string) string {
	m.t.Helper()
	pid := parseStatus(m.t, m.must("status", "-o", "json", "--data-dir", dataDir)).PID
	state, ok := datadir.ReadRunFile(dataDir, pid)
	if !ok {
		m.t.Fatal("no run file")
	}
	key := strings.TrimSpace(m.must("cloud", "key", "create", "--project", "demo", "--data-dir", dataDir))
	cloud, err := sdk.NewClient(sdk.Config{Endpoint: state.Cloud, Project: "demo", APIKey: key})
	if err != nil {
		m.t.Fatal(err)
	}
	databases := database.NewClient(cloud)
	if _, err := databases.Create(m.t.Context(), database.CreateInstanceInput{Name: "kept", FancinessLevel: 10}); err != nil {
		m.t.Fatal(err)
	}
	var instance *database.Instance
	err = wait.PollUntilContextTimeout(m.t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		instance, err = databases.Get(ctx, "kept")
		return err == nil && instance.Status == sdk.StatusOnline, err
	})
	if err != nil {
		m.t.Fatalf("waiting for the instance: %v; it is %+v", err, instance)
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
