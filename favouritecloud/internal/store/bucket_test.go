// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

func TestTable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	table, other := store.NewTable[int]("a"), store.NewTable[int]("b")
	write := func(f func(*store.Tx) error) {
		t.Helper()
		if err := s.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *store.Tx) error { // The table does not exist yet.
		_, err := table.Get(tx, "p", "x")
		list, listErr := table.List(tx, "p")
		if !errors.Is(err, store.ErrNotFound) || list != nil || listErr != nil || table.Delete(tx, "p", "x") != nil {
			t.Errorf("an empty table: get %v, list %v %v", err, list, listErr)
		}
		return nil
	})
	write(func(tx *store.Tx) error {
		return errors.Join(table.Put(tx, "p", "y", 1), table.Put(tx, "p", "x", 2), table.Put(tx, "pp", "x", 3), other.Put(tx, "p", "x", 4),
			table.Put(tx, "p", "y", 5))
	})
	refused := errors.New("refused")
	if err := s.Write(func(tx *store.Tx) error { return errors.Join(table.Put(tx, "p", "x", 9), refused) }); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	write(func(tx *store.Tx) error { return errors.Join(table.Put(tx, "p", "z", 6), table.Delete(tx, "p", "z")) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder)
	err := s.Read(func(tx *store.Tx) error {
		one, oneErr := table.Get(tx, "p", "x")
		list, listErr := table.List(tx, "p")
		all, allErr := table.All(tx)
		if diff := cmp.Diff([][]int{{2}, {2, 5}, {2, 5, 3}}, [][]int{{one}, list, all}); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		return errors.Join(oneErr, listErr, allErr)
	})
	if err != nil {
		t.Error(err)
	}
}
