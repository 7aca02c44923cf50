// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/testkit/thing"
)

// A resource that lost its password, which was made up at creation, gets it back from the connection secret.
func TestStoredCredentials(t *testing.T) {
	t.Parallel()
	never := func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil }
	for name, tc := range map[string]struct {
		made, then func(*thing.Thing) // what the object is changed to before and after the creation
		want       string
	}{
		"what is stored is given again (P65)":       {want: "stored"},
		"where nothing is stored, nothing is (P65)": {made: never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, tc.made)
			s.system.Chooses = true
			s.pass()
			if tc.made == nil {
				secret := &corev1.Secret{}
				if err := s.env.Client.Get(t.Context(), s.secret, secret); err != nil {
					t.Fatal(err)
				}
				secret.Data["password"] = []byte("stored")
				if err := s.env.Client.Update(t.Context(), secret); err != nil {
					t.Fatal(err)
				}
			}
			if tc.then != nil {
				s.edit(tc.then)
			}
			s.system.Do(func(system *thing.System) {
				have := system.Resources[s.key.Name]
				have.Size, have.Password = 7, ""
				system.Resources[s.key.Name] = have
			})
			s.pass()
			if have := s.has(); have.Size != 1 || have.Password != tc.want {
				t.Errorf("the resource is %+v, want password %q; the user sees %s: %s", have, tc.want, s.state(), s.message())
			}
		})
	}
}
