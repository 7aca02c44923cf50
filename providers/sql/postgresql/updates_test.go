// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A resource is what the client can do with one kind of object.
type resource[T any] struct {
	identity T // the fields that identify an object; the others are unset
	update   func(context.Context, T) error
	get      func(context.Context) (*T, error)
}

// checkUpdates changes an object one field after the other, in any order, and expects it unchanged otherwise.
func checkUpdates[T any](t *testing.T, r resource[T], created *T, have T, changes map[string]func(*T)) {
	t.Helper()
	if diff := cmp.Diff(&have, created, givenBy(have)); diff != "" {
		t.Errorf("created: -want +got:\n%s", diff)
	}
	changes["nothing"] = func(*T) {}
	for name, change := range changes {
		change(&have)
		update := r.identity
		change(&update)
		if err := r.update(t.Context(), update); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := r.get(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(&have, got, givenBy(have)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
