// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// While a restore runs, neither a second one nor a server uses the folder. A lock that is left in it is no content.
func TestRestoreLocksItsFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	abort := func() error { return AbortRestore(dir) }
	for range 2 {
		release, err := BeginRestore(dir, abort)
		must(t, err)
		if _, err := BeginRestore(dir, abort); !isLocked(err) {
			t.Errorf("a second restore: %v", err)
		}
		must(t, EndRestore(dir))
		if _, err := newServer(t, Config{DataDir: dir}).startFolder(t.Context()); !isLocked(err) {
			t.Errorf("a server: %v", err)
		}
		must(t, release())
	}
	must(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	if _, err := BeginRestore(dir, abort); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder with files: %v", err)
	}
}

func isLocked(err error) bool {
	_, locked := errors.AsType[*LockedError](err)
	return locked
}

func TestKeysOfABackup(t *testing.T) {
	t.Parallel()
	b := &Backup{dataDir: filepath.Join(t.TempDir(), "control [1] plane")}
	if _, err := b.Keys(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without keys: %v", err)
	}
	must(t, os.MkdirAll(b.dataDir, 0o700))
	keys := &pki.PKI{Dir: filepath.Join(b.dataDir, "pki"), Now: time.Now}
	must(t, keys.Ensure())
	must(t, os.WriteFile(encryptionPath(b.dataDir), nil, 0o600))
	got, err := b.Keys()
	want := []string{"pki/admin.pem", "pki/ca.crt", "pki/ca.key", "pki/service-accounts.key", "pki/serving.pem", "encryption.yaml"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// Objects that are deleted between the snapshot and the end of a backup are deleted again: their data may not be in it.
func TestRestoreDeletesAgain(t *testing.T) {
	s := startServer(t, Config{})
	c := newClient(t, s.RESTConfig())
	define(t, c, gadgets("BackedGadget"))
	held := func(name string) *unstructured.Unstructured {
		g := gadget("BackedGadget", "default", name, 7)
		g.SetFinalizers([]string{"test.bowline.dev/held"})
		return g
	}
	for _, g := range []*unstructured.Unstructured{
		gadget("BackedGadget", "default", "kept", 7), gadget("BackedGadget", "default", "deleted", 7), gadget("BackedGadget", "default", "replaced", 7),
		held("leaving"), held("left"), held("held"),
	} {
		must(t, c.Create(t.Context(), g))
	}
	leaver := gadgets("BackedLeaver")
	leaver.SetFinalizers([]string{"test.bowline.dev/held"})
	define(t, c, leaver)
	backup, err := NewBackup(s.cfg.DataDir)
	must(t, err)
	defer backup.Close()
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	must(t, backup.Snapshot(t.Context(), snapshot))
	for _, name := range []string{"deleted", "replaced", "leaving", "left"} {
		must(t, c.Delete(t.Context(), gadget("BackedGadget", "default", name, 7)))
	}
	must(t, c.Delete(t.Context(), leaver))
	must(t, c.Create(t.Context(), gadget("BackedGadget", "default", "replaced", 8)))
	must(t, c.Create(t.Context(), gadget("BackedGadget", "default", "late", 7)))
	must(t, c.Patch(t.Context(), held("left"), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	var survivors bytes.Buffer
	must(t, backup.Survivors(t.Context(), &survivors))

	dir := t.TempDir()
	must(t, RestoreStore(t.Context(), dir, snapshot, &survivors))
	keys, err := backup.Keys()
	must(t, err)
	for _, key := range keys {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, key)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, key), readFile(t, filepath.Join(s.cfg.DataDir, key)), 0o600))
	}
	must(t, os.Chmod(dir, 0o700))
	restored := newClient(t, startServer(t, Config{DataDir: dir}).RESTConfig())
	if err := restored.Get(t.Context(), client.ObjectKeyFromObject(leaver), leaver); err != nil || leaver.DeletionTimestamp == nil {
		t.Errorf("definition that was being deleted: got %v, %v, want one that is being deleted", leaver.DeletionTimestamp, err)
	}
	for name, want := range map[string]string{
		"kept": "exists", "held": "exists", "deleted": "none", "replaced": "none", "late": "none", "leaving": "deleting", "left": "deleting",
	} {
		got, found := "exists", gadget("BackedGadget", "default", name, 0)
		err := restored.Get(t.Context(), client.ObjectKeyFromObject(found), found)
		switch {
		case apierrors.IsNotFound(err):
			got = "none"
		case err != nil:
			got = err.Error()
		case found.GetDeletionTimestamp() != nil:
			got = "deleting"
		}
		if got != want {
			t.Errorf("gadget %s: %s, want %s", name, got, want)
		}
	}
	lists := &unstructured.UnstructuredList{}
	lists.SetAPIVersion(testGroup + "/v1")
	lists.SetKind("BackedGadgetList")
	must(t, c.List(t.Context(), lists))
	former := lists.GetResourceVersion()
	must(t, restored.List(t.Context(), lists))
	if now := lists.GetResourceVersion(); len(now) < len(former) || len(now) == len(former) && strings.Compare(now, former) < 0 {
		t.Errorf("the resource version fell from %s to %s", former, now)
	}
}
