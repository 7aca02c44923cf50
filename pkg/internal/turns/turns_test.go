// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package turns_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/internal/turns"
)

// What has to wait is called in its order, once, also where one that was called is gone.
func TestTurns(t *testing.T) {
	t.Parallel()
	var called []string
	all := turns.New(2, func(object types.NamespacedName) { called = append(called, object.Name) })
	slow, other := types.NamespacedName{Name: "slow"}, types.NamespacedName{Name: "other"}
	take := func(owner types.NamespacedName, object string, want bool) {
		t.Helper()
		if got := all.Take(owner, types.NamespacedName{Name: object}); got != want {
			t.Errorf("%s takes its turn: %t, want %t", object, got, want)
		}
	}
	calls := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, called); diff != "" {
			t.Errorf("calls, -want +got:\n%s", diff)
		}
		called = nil
	}
	take(slow, "a", true)
	take(slow, "b", true)
	take(slow, "c", false)
	take(slow, "c", false)
	take(slow, "d", false)
	take(slow, "e", false)
	take(other, "f", true)
	all.End(other)
	calls()
	all.End(slow)
	calls("c")
	all.Forget(types.NamespacedName{Name: "c"}) // it is deleted
	calls("d")
	take(slow, "d", true)
	all.End(slow)
	calls("e")
	take(slow, "e", true)
	all.End(slow)
	all.End(slow)
	calls()
	take(slow, "c", true)
}
