// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// An object of a kind whose names the external system chooses, and that loses its name, creates no second external resource.
func TestLostName(t *testing.T) {
	replaced := edit(func(mg *thing.Thing) { mg.Annotations, mg.Finalizers = nil, nil })
	recreate := edit(func(mg *thing.Thing) { mg.Annotations = map[string]string{meta.AnnotationKeyRecreate: string(mg.UID)} })
	held := object("the finalizer is back", func(mg *thing.Thing) bool { return meta.FinalizerExists(mg, managed.Finalizer) })
	gone := system(func(sys *thing.System) { clear(sys.Resources) })
	stays := then(fails(failure.ExternalNameLost), reports("set the annotation"), resources(1))
	const window = 10 * time.Minute
	play(t, scripts{
		"it is found and taken back (N65)":                 {findable, pass, replaced, pass, sees(ready), named("vendor-1"), held, resources(1)},
		"also by another process (N65)":                    {findable, pass, replaced, restarted, pass, sees(ready), named("vendor-1"), held, resources(1)},
		"also one that is not ready yet (N65)":             {findable, failed(failure.New(failure.QuotaExceeded, "slow")), pass, replaced, pass, named("vendor-1"), held, resources(1)},
		"also if only the annotations are gone (N65)":      {findable, pass, edit(func(mg *thing.Thing) { mg.Annotations = nil }), deleted, pass, sees("gone"), resources(0)},
		"it is created again if it is not found (N65)":     {findable, with(managed.WithConsistencyWindow(window)), pass, gone, replaced, pass, resources(0), later(window + time.Second), pass, named("vendor-2")},
		"without a search, a person has to name it (N65)":  {vendorNames, pass, replaced, pass, stays, later(time.Hour), pass, stays, annotate(meta.AnnotationKeyExternalName, "vendor-1"), pass, sees(ready), held, resources(1)},
		"or permit another one, once (N65)":                {vendorNames, pass, replaced, pass, stays, recreate, pass, sees(ready), named("vendor-2"), resources(2)},
		"a new object has no status, and is created (N65)": {findable, pass, sees(ready), calls("FindCreated", 0), resources(1)},
	})
}
