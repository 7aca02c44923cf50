// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
)

// reversed encrypts by reversing, and fails where it has an error.
type reversed struct{ from, to error }

const plaintext, mark = "correct-horse-battery-staple", "encrypted:"

func (r *reversed) TransformFromStorage(_ context.Context, stored []byte, _ value.Context) ([]byte, bool, error) {
	return stored, !bytes.HasPrefix(stored, []byte(mark)), r.from
}

func (r *reversed) TransformToStorage(_ context.Context, plain []byte, _ value.Context) ([]byte, error) {
	return seal(plain), r.to
}

func seal(plain []byte) []byte {
	sealed := []byte(mark)
	for i := range plain {
		sealed = append(sealed, plain[len(plain)-1-i])
	}
	return sealed
}

// An interrupted rewrite leaves the former values in free pages, also where every Secret is encrypted by now.
func TestInterruptedRewriteIsFinished(t *testing.T) {
	dir := t.TempDir()
	store, err := etcd.Start(t.Context(), dir, true, logr.Discard())
	must(t, err)
	must(t, store.WaitReady(t.Context()))
	cfg := Config{Store: store, Encryption: "keys.yaml", Rewriting: filepath.Join(dir, "rewriting")}
	put := func(value []byte) int64 {
		t.Helper()
		done, err := store.Etcd.Server.Put(t.Context(), &etcdserverpb.PutRequest{Key: []byte(secretsPrefix + "shop/orders"), Value: value})
		must(t, err)
		return done.Header.Revision
	}
	put([]byte(plaintext))

	err = encryptSecrets(t.Context(), cfg, &reversed{from: errors.New("unknown key")})
	if err == nil || !strings.Contains(err.Error(), "put back the file") {
		t.Errorf("with a wrong key: %v", err)
	}
	if _, err := os.Stat(cfg.Rewriting); err == nil {
		t.Error("the rewrite is recorded before anything is written")
	}
	err = encryptSecrets(t.Context(), cfg, &reversed{to: errors.New("no space left")})
	if err == nil || strings.Contains(err.Error(), "decrypted") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("with a failing write: %v", err)
	}
	put(seal([]byte(plaintext))) // the last one before the process was killed
	must(t, encryptSecrets(t.Context(), cfg, &reversed{}))
	if _, err := os.Stat(cfg.Rewriting); err == nil {
		t.Error("the rewrite is not finished")
	}
	before := put(seal([]byte(plaintext)))
	must(t, encryptSecrets(t.Context(), cfg, &reversed{}))
	if after := put(seal([]byte(plaintext))); after != before+1 {
		t.Errorf("a rewrite without a change wrote %d revisions", after-before-1)
	}
	must(t, store.Stop())
	database, err := os.ReadFile(etcd.DatabasePath(dir))
	must(t, err)
	if bytes.Contains(database, []byte(plaintext)) || !bytes.Contains(database, []byte(mark)) {
		t.Error("the former value is in the database")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
