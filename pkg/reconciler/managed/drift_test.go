// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

const asDeclared = "True AsDeclared []"

// drift checks condition InSync and the fields in status.drift.
func drift(want string) act {
	return func(s *stage) {
		s.t.Helper()
		mg := s.thing()
		c := mg.GetCondition(xpv1.TypeInSync)
		paths := make([]string, 0, len(mg.Status.Drift))
		for _, d := range mg.Status.Drift {
			paths = append(paths, fmt.Sprintf("%s %s->%s", d.Path, d.Observed, d.Desired))
		}
		s.equal("drift", want, fmt.Sprintf("%s %s %s", c.Status, c.Reason, paths))
	}
}

// A difference that must not be settled is reported once, and until it is gone. It is no error.
func TestDriftWithoutUpdate(t *testing.T) {
	live(t, clients, func() []moment {
		shows := func(want string, writes int, reasons ...event.Reason) act {
			return then(forget, pass, drift(want), wrote(writes), emitted(reasons...), sees(ready), calls("Update", 0))
		}
		zone := func(z *string) act { return edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = z }) }
		return []moment{
			{"there is none to begin with (P81)", []act{allow("Create", "Observe", "Delete"), pass, drift(asDeclared)}},
			{"it shows with both values (N8, P80, P81, R135)",
				[]act{resize(9), shows("False Drifted [size 9->1]", 1, managed.ReasonDrifted)}},
			{"it is no news at the next poll (N8, N13)", []act{shows("False Drifted [size 9->1]", 0)}},
			{"nor after a restart (N8, N13)", []act{restarted, shows("False Drifted [size 9->1]", 0)}},
			{"another value shows, without an event (N8)", []act{resize(8), shows("False Drifted [size 8->1]", 1)}},
			{"a changed spec is a difference (R135, P81)", []act{zone(new("zone-b")),
				shows("False Drifted [size 8->1 zone null->\"zone-b\"]", 1, managed.ReasonDrifted)}},
			{"it is gone once settled (P81)", []act{resize(1), zone(nil), shows(asDeclared, 1)}},
		}
	})
}

// Some settings cannot be changed, and some systems do not report so.
func TestUpdatesThatNeverSettle(t *testing.T) {
	quiet := then(forget, pass, called(updates), emitted(), wrote(0))
	live(t, map[string]act{"client": stubborn}, func() []moment {
		return []moment{
			{"it shows after the second update (N8, P81)", []act{pass, size(2), forget, drift(asDeclared), pass, drift(asDeclared), pass,
				drift("False Drifted [size 1->2]"), emitted(managed.ReasonUpdated, managed.ReasonUpdated, managed.ReasonDrifted)}},
			{"from then on nothing is written or reported (N13, R24, R205, N8)", []act{quiet, quiet, quiet}},
			{"nor after a restart (N13, R24, R205)", []act{restarted, quiet, quiet, quiet}},
			{"a user's change is news once (R204, R205)", []act{size(5), pass, emitted(managed.ReasonUpdated), pass, emitted()}},
			{"it is gone once an update settles it (P81)", []act{cooperates, pass, drift(asDeclared)}},
			{"a later update is news again (R204)", []act{size(3), forget, pass, emitted(managed.ReasonUpdated)}},
		}
	})
}

func TestDrift(t *testing.T) {
	const differs = "The external resource differs from spec.forProvider"
	refused := then(refuse("Update", errors.New("not now")), pass)
	coarse := func(diff, want string) []act {
		shows := func(_ *thing.Thing, o *observation) { o.Drift, o.Diff = nil, diff }
		return []act{allow("Observe"), observed(shows), give(thing.Resource{Size: 5}), pass, object(want, func(mg *thing.Thing) bool {
			c := mg.GetCondition(xpv1.TypeInSync)
			return c.Reason == xpv1.ReasonDrifted && c.Message == want
		})}
	}
	secret := func(actions ...xpv1.ManagementAction) []act {
		return []act{allow(actions...), edit(func(mg *thing.Thing) { mg.Spec.ForProvider.AccessToken = new("swordfish-new") }),
			stubborn,
			give(thing.Resource{Size: 1, AccessToken: "swordfish-old"}), passes(3), holds("only its path shows", func(s *stage) bool {
				mg := s.thing()
				shown, err := json.Marshal([]any{mg.Status.Drift, mg.Status.Conditions, s.events.All()})
				return err == nil && !strings.Contains(string(shown), "swordfish") &&
					len(mg.Status.Drift) == 1 && mg.Status.Drift[0].Path == "accessToken"
			})}
	}
	play(t, scripts{
		"an update that failed is none that does not settle (N8, P81)": {pass, stubborn, size(2), refused, refused, refused,
			drift("False Drifted [size 1->2]"), pass, drift("False Drifted [size 1->2]"),
			emitted(managed.ReasonCreated, managed.ReasonCannotUpdate, managed.ReasonUpdated), cooperates, pass, drift(asDeclared)},
		"secrets do not show in drift that may not be settled (R234, N8)": secret("Observe", "Create"),
		"secrets do not show in drift that no update settles (R234, N8)":  secret("*"),
		"a client that reports a text (P80, P81)":                         coarse("size too small", differs+": size too small"),
		"a client that reports nothing (P80, P81)":                        coarse("", differs+"."),
		"in a field that cannot change (N8, P81)": {observed(func(_ *thing.Thing, o *observation) {
			if o.ResourceExists {
				o.ResourceUpToDate, o.Failed = true, errors.New("region cannot change")
				o.Drift = []xpv1.FieldDifference{{Path: "region", Desired: `"a"`, Observed: `"b"`}}
			}
		}), pass, calls("Update", 0), drift(`False Drifted [region "b"->"a"]`)},
	})
}
