// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

func TestUnreachableDataFolder(t *testing.T) {
	t.Parallel()
	requireServers(t)
	private := filepath.Join(t.TempDir(), "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(private, "cloud")
	c := startCloud(t, favouritecloud.Config{DataDir: dir})
	created := create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	query(t, c.awaitOnline(t, "orders"), created.Password, "select 'reached'")
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "instances"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 && !strings.HasPrefix(real, "/var/lib/favouritecloud-") {
		t.Errorf("instances live in %s, where PostgreSQL's account cannot reach them", real)
	}
	c.stop()
	c = startCloud(t, favouritecloud.Config{DataDir: dir})
	query(t, c.awaitOnline(t, "orders"), created.Password, "select 'the choice was kept'")
	remove(t, c.databases, "orders")
	c.awaitDeleted(t, databases(), "orders")
	c.stop()
	if _, err := os.Stat(real); os.Geteuid() == 0 && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder is left outside of the data folder: %v", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	for _, name := range []string{"admin.token", "state.db", "endpoint"} {
		info, err := os.Stat(filepath.Join(c.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
	}
	info, err := os.Stat(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm()&0o066 != 0 {
		t.Errorf("others can list or change the data folder: mode %o", info.Mode().Perm())
	}
}

func TestStartRefusals(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	address := strings.TrimPrefix(c.url, "http://")
	cases := map[string]struct {
		config favouritecloud.Config
		want   []string
	}{
		"port taken": {
			config: favouritecloud.Config{DataDir: newDataDir(t), Listen: address},
			want:   []string{address, "address already in use"},
		},
		"data folder in use": {
			config: favouritecloud.Config{DataDir: c.dir, Listen: "127.0.0.1:0"},
			want:   []string{c.dir, "in use by another cloud", fmt.Sprintf("pid %d", os.Getpid())},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server, err := favouritecloud.New(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			err = server.Run(t.Context())
			for _, part := range tc.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v does not say %q", err, part)
				}
			}
		})
	}
}

func TestNewRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		config favouritecloud.Config
		want   string
	}{
		"no data folder":  {favouritecloud.Config{}, "data folder is required"},
		"bad address":     {favouritecloud.Config{DataDir: "x", Listen: "7070"}, `"7070" is not host:port`},
		"negative retry":  {favouritecloud.Config{DataDir: "x", RetryInterval: -1}, "is negative"},
		"every problem":   {favouritecloud.Config{Listen: "7070"}, "data folder is required\nlisten address"},
		"instance folder": {favouritecloud.Config{DataDir: "x", InstanceDir: "/y"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := favouritecloud.New(tc.config)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestInstanceFolderIsKept(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	apart := filepath.Join(filepath.Dir(dir), "apart")
	c := startCloud(t, favouritecloud.Config{DataDir: dir, InstanceDir: apart})
	c.stop()
	for name, instances := range map[string]string{"another one": apart + "2", "the same": apart, "unsaid": ""} {
		server, err := favouritecloud.New(favouritecloud.Config{DataDir: dir, InstanceDir: instances, Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Run(ctx) }()
		select {
		case <-server.Ready():
			cancel()
			err = <-ended
		case err = <-ended:
			cancel()
		}
		if refused := err != nil && strings.Contains(err.Error(), apart+"2 cannot be used"); refused != (name == "another one") || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
