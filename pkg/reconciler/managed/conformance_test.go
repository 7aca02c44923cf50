// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed/internal/thing"
)

// give puts a resource of this object's into the system, under the object's name.
func (s *stage) give(r thing.Resource) {
	s.t.Helper()
	r.Owner = s.thing().UID
	s.system.Do(func(sys *thing.System) { sys.Resources[s.key.Name] = r })
}

// has returns the resource of the object's name.
func (s *stage) has() thing.Resource { return s.system.Snapshot()[s.key.Name] }

// countWrites replaces the reconciler by one whose writes to the API server are listed from now on.
func (s *stage) countWrites() *[]string {
	s.t.Helper()
	writes := &[]string{}
	s.restart(tapped(s.env.Config, func(request string) (refuse, lose error) {
		*writes = append(*writes, request)
		return nil, nil
	}))
	return writes
}

// take returns what was written and told so far and forgets both.
func (s *stage) take(writes *[]string) (made []string, told []event.Reason) {
	made, *writes = *writes, nil
	return made, s.events.take()
}
