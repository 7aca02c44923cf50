// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A process that was frozen, as when its virtual machine is paused, sends nothing that another one may have done meanwhile.
func TestFrozen(t *testing.T) {
	frozen := func(d time.Duration) act { // while it records that the creation begins
		return func(s *stage) {
			s.fault = func(request string) (refuse, lose error) {
				if strings.Contains(request, "PATCH") {
					s.clock, s.fault = s.clock.Add(d), nil
				}
				return nil, nil
			}
		}
	}
	soon := requeued(time.Second, time.Second)
	late := func(given ...act) []act {
		return []act{then(given...), frozen(16 * time.Second), pass, calls("Create", 0), soon, resources(0), pass, resources(1), later(time.Minute),
			pass, sees(ready)}
	}
	leaves := func(verb string, change act) []act {
		lost := false
		lease := func() error {
			if lost {
				return fence.Late("the lease is lost")
			}
			return nil
		}
		return []act{with(managed.WithFence(lease)), pass, sees(ready), change, func(*stage) { lost = true }, forget, pass, calls(verb, 0),
			soon, func(*stage) { lost = false }, later(time.Minute), pass, calls(verb, 1)}
	}
	play(t, scripts{
		"a creation of a known name (N40, N87)": late(),
		"a creation that can be repeated (N87)": late(replays),
		"a creation that can be found (N87)":    late(findable),
		"a creation in the background (N87)":    {inBackground, frozen(16 * time.Second), passes(2), calls("Create", 0), resources(0)},
		"a short time is none (N87)":            {frozen(14 * time.Second), pass, resources(1), sees(ready)},
		"an old mark is not used again (N87)": {refuse("Create", busy{}), pass, resources(0), later(10 * time.Second), pass, resources(1),
			holds("each attempt has a mark", func(s *stage) bool {
				return meta.GetExternalCreatePending(s.thing()).Equal(s.clock)
			})},
		"an update without the lease (N40, N87)":  leaves("Update", size(2)),
		"a deletion without the lease (N40, N87)": leaves("Delete", deleted),
		"a creation without the lease (N40, N87)": {with(managed.WithFence(func() error { return fence.Late("the lease is lost") })), pass, resources(0), soon},
	})
}
