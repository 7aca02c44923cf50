// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func isUsed(t *testing.T, s *Server, group, resource string) bool {
	select {
	case <-s.Used(t.Context(), schema.GroupResource{Group: group, Resource: resource}):
		return true
	default:
		return false
	}
}

// The channel of a kind is closed before its first object exists.
func testUsed(t *testing.T, s *Server, c client.WithWatch) {
	namespace(t, c, "used")
	define(t, c, gadgets("Used"))
	begins := s.Used(t.Context(), schema.GroupResource{Group: testGroup, Resource: "useds"})
	if !isUsed(t, s, "", "secrets") || isUsed(t, s, testGroup, "useds") {
		t.Error("a built-in kind is not used, or a kind without objects is")
	}
	must(t, c.Create(t.Context(), gadget("Used", "used", "g", 1)))
	select {
	case <-begins:
	default:
		t.Error("a kind with an object is not used")
	}
	if !isUsed(t, s, testGroup, "useds") {
		t.Error("a kind with an object is not used the second time")
	}
}
