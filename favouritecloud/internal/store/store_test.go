// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

func TestStore(t *testing.T) {
	t.Parallel()
	const table, other store.Table[int] = "a", "b"
	folder, refused := t.TempDir(), errors.New("refused")
	s := open(t, folder)
	write := func(want error, f func(*store.Tx) error) {
		t.Helper()
		if err := s.Write(f); !errors.Is(err, want) {
			t.Fatalf("error %v", err)
		}
	}
	var ids [3]int
	newID := func(n int) func(tx *store.Tx) error {
		return func(tx *store.Tx) (err error) {
			ids[n], err = table.NextID(tx)
			return err
		}
	}
	write(nil, func(tx *store.Tx) error { // The table does not exist yet.
		_, err := table.Get(tx, "p", "x")
		list, listErr := table.List(tx, "p")
		if !errors.Is(err, store.ErrNotFound) || list != nil || listErr != nil || table.Delete(tx, "p", "x") != nil {
			t.Errorf("an empty table: get %v, list %v %v", err, list, listErr)
		}
		return nil
	})
	write(nil, func(tx *store.Tx) error {
		return errors.Join(table.Put(tx, "p", "y", 1), table.Put(tx, "p", "x", 2), table.Put(tx, "pp", "x", 3), other.Put(tx, "p", "x", 4),
			table.Put(tx, "p", "y", 5))
	})
	write(nil, newID(0))
	write(nil, newID(1))
	write(refused, func(tx *store.Tx) error { return errors.Join(table.Put(tx, "p", "x", 9), refused) })
	write(nil, func(tx *store.Tx) error { return errors.Join(table.Put(tx, "p", "z", 6), table.Delete(tx, "p", "z")) })

	_, err := store.Open(folder)
	if want := fmt.Sprintf("in use by another cloud (pid %d)", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second store: error %v does not say %q", err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pid file of a closed store: %v", err)
	}
	s = open(t, folder)
	write(nil, newID(2))
	err = s.Read(func(tx *store.Tx) error {
		one, oneErr := table.Get(tx, "p", "x")
		list, listErr := table.List(tx, "p")
		all, allErr := table.All(tx)
		if diff := cmp.Diff([][]int{{2}, {2, 5}, {2, 5, 3}, {1, 2, 3}}, [][]int{{one}, list, all, ids[:]}); diff != "" {
			t.Errorf("record, list, all and ids, -want +got:\n%s", diff)
		}
		return errors.Join(oneErr, listErr, allErr)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, folder string) *store.Store {
	t.Helper()
	s, err := store.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
