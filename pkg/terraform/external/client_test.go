// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// An object of a Terraform kind lives the whole life of a managed resource.
func TestLife(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		files := s.files("berth")
		id := meta.GetExternalName(north)
		if len(files) != 1 || files[id] == nil {
			t.Fatalf("outside there is %v, and the external name is %q", files, id)
		}
		secret := &corev1.Secret{}
		s.must(s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "north"}, secret))
		if len(secret.Data["password"]) == 0 {
			t.Errorf("the connection Secret has %d keys, and no password", len(secret.Data))
		}
		s.edit(north, func(o map[string]any) { set(o, int64(3), "spec", "forProvider", "size") })
		s.ready(north)
		if size := s.files("berth")[id]["size"]; size != 3.0 {
			t.Errorf("after a change the size is %v", size)
		}
		s.delete(north)
		s.gone(north)
		if files := s.files("berth"); len(files) != 0 {
			t.Errorf("after the deletion there is %v", files)
		}
	})
}
