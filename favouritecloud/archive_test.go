// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// broken are servers of which none can be copied.
type broken string

func (b broken) Backup(context.Context, []string, func(folder, data string) error, func(string) error) error {
	return errors.New("no copy of " + string(b))
}
func (b broken) Failed([]string) error    { return errors.New(string(b) + " is down") }
func (b broken) Paths() ([]string, error) { return nil, nil }

// A backup that fails reports what is down in all services: otherwise each attempt would report one server.
func TestFailedBackupReportsAllServices(t *testing.T) {
	t.Parallel()
	f := &folders{data: t.TempDir()}
	var err error
	if f.state, err = openState(f.data); err != nil {
		t.Fatal(err)
	}
	defer f.state.Close()
	if err := os.WriteFile(filepath.Join(f.data, adminTokenFile), []byte("fca_1"), 0o600); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := f.backup(t.Context(), &archive, nil, broken("database"), broken("cache")); err == nil {
		t.Error("the backup succeeded")
	}
	var end []byte
	for r := tar.NewReader(&archive); ; {
		header, err := r.Next()
		if err != nil {
			break
		}
		if header.Name == sdk.BackupEnd {
			end, _ = io.ReadAll(r)
		}
	}
	for _, want := range []string{"no copy of database", "database is down", "cache is down"} {
		if !strings.Contains(string(end), want) {
			t.Errorf("the archive ends with %q, want %q", end, want)
		}
	}
}
