// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

func open(t *testing.T, folder string) *store.Store {
	t.Helper()
	s, err := store.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// record is one of some service.
type record struct {
	store.Instance
	Size int
}

func instances(s *store.Store) *store.Instances[record, *record] {
	return store.NewInstances[record](s, "some")
}

func create(t *testing.T, s *store.Store, project, name, key string) (id int, replayed bool, err error) {
	t.Helper()
	i := record{Instance: store.Instance{Project: project, Name: name, IdempotencyKey: key}, Size: 7}
	body, replayed, err := instances(s).Create(&i, func(i record) ([]byte, error) { return json.Marshal(i.ID) })
	if err == nil {
		err = json.Unmarshal(body, &id)
	}
	return id, replayed, err
}

func TestInstances(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder)
	steps := []struct {
		project, name, key string
		remove             int
		reopen             bool
		id                 int
		replayed           bool
		err                error
	}{
		{project: "p", name: "b", key: "k", id: 1},
		{project: "p", name: "b", key: "k", id: 1, replayed: true},
		{project: "p", name: "other", key: "k", id: 1, replayed: true},
		{project: "p", name: "b", err: store.ErrNameTaken},
		{project: "q", name: "b", key: "k", id: 2},
		{project: "p", name: "a", id: 3},
		{reopen: true, project: "p", name: "b", key: "k", id: 1, replayed: true},
		{remove: 1, project: "p", name: "b", key: "k", id: 4},
		{remove: 4, reopen: true, project: "p", name: "b", id: 5},
		{remove: 99, project: "p", name: "c", id: 6},
	}
	for n, step := range steps {
		if step.remove != 0 {
			if err := instances(s).Delete(step.remove); err != nil {
				t.Fatal(err)
			}
		}
		if step.reopen {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, folder)
		}
		id, replayed, err := create(t, s, step.project, step.name, step.key)
		if id != step.id || replayed != step.replayed || !errors.Is(err, step.err) {
			t.Errorf("step %d: id %d, replayed %t, error %v", n, id, replayed, err)
		}
	}
	list, err := instances(s).OfProject("p")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range list {
		names = append(names, fmt.Sprint(i.Name, i.ID))
	}
	if diff := cmp.Diff([]string{"a3", "b5", "c6"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestServicesAreApart(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	defer s.Close() // The test is over.
	if _, _, err := create(t, s, "p", "a", "k"); err != nil {
		t.Fatal(err)
	}
	other := store.NewInstances[record](s, "other")
	_, byName := other.ByName("p", "a")
	_, byID := other.Get(1)
	_, replay := other.Replay("p", "k")
	if list, err := other.OfProject("p"); len(list) > 0 || err != nil {
		t.Errorf("listed %v, %v", list, err)
	}
	if list, err := other.All(); len(list) > 0 || err != nil {
		t.Errorf("all are %v, %v", list, err)
	}
	for _, err := range []error{byName, byID, replay} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("found what is another service's: %v", err)
		}
	}
	if err := other.Delete(1); err != nil {
		t.Error(err)
	}
}

func TestRefusedChangeWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	defer s.Close() // The test is over.
	id, _, err := create(t, s, "p", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	_, err = instances(s).Update(id, func(i *record) error {
		i.Port = 1
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if i, err := instances(s).Get(id); err != nil || i.Port != 0 || i.Size != 7 {
		t.Errorf("port %d, size %d, error %v", i.Port, i.Size, err)
	}
	if _, err := instances(s).Update(99, func(*record) error { return nil }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("changing nothing: %v", err)
	}
}

func TestSecondOpenNamesTheFirst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := open(t, folder)
	_, err := store.Open(folder)
	if want := fmt.Sprintf("in use by another cloud (pid %d)", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v does not say %q", err, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pid file of a closed store: %v", err)
	}
}
