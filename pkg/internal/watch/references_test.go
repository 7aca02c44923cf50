// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A watch that missed the deletion of a Secret may know only its name.
func TestDeletionOfAnUnknownSecret(t *testing.T) {
	t.Parallel()
	(&References{}).wakeOwner(t.Context(), schema.GroupVersionKind{}, nil, nil, nil) // panics if it needs the Secret
}
