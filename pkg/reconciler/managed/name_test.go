// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A name that a careless client sets on the object is not kept, not even for the rest of the pass.
func TestNameSetByClient(t *testing.T) {
	t.Parallel()
	const other = "somebody-elses"
	for name, through := range map[string]altering{
		"in Observe (R65)": {observed: func(mg *thing.Thing, _ *managed.ExternalObservation) { meta.SetExternalName(mg, other) }},
		"in Update (R65)":  {updated: func(mg *thing.Thing, _ *managed.ExternalUpdate) { meta.SetExternalName(mg, other) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.pass()
			s.system.Do(func(sys *thing.System) { sys.Resources[other] = thing.Resource{Size: 5} })
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
			s.through(through)
			s.pass()
			if have := s.system.Snapshot(); have[other].Size != 5 || have[s.key.Name].Size != 2 {
				t.Errorf("resources %+v", have)
			}
			if mg := s.thing(); meta.GetExternalName(mg) != s.key.Name || mg.Status.AtProvider.Size != 2 {
				t.Errorf("the object names %s and shows size %d", meta.GetExternalName(mg), mg.Status.AtProvider.Size)
			}
		})
	}
}
