// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// limits are those of a node group, of whose size an autoscaler may decide.
func limits(least, most int, desired *int) []thing.Scaling {
	return []thing.Scaling{{MinSize: &least, MaxSize: &most, DesiredSize: desired}}
}

// nodeGroup is the example of the documentation: an autoscaler owns the desired size, the user the limits.
func nodeGroup(s *stage) {
	s.edit(func(mg *thing.Thing) {
		mg.Spec.ForProvider = thing.Parameters{Size: 1, ScalingConfig: limits(1, 4, nil)}
		mg.Spec.InitProvider = &thing.Parameters{Size: 7, Zone: new("zone-a"), ScalingConfig: []thing.Scaling{{DesiredSize: new(1)}}}
	})
}

func forgetSent(s *stage) { s.play(system(func(sys *thing.System) { clear(sys.Sent) })) }

// keepsSpec checks that the acts end with the spec that there was before.
func keepsSpec(acts ...act) act {
	return func(s *stage) {
		before := s.thing().Spec
		s.play(acts...)
		s.equal("spec", before, s.thing().Spec)
	}
}

func TestInitProvider(t *testing.T) {
	live(t, clients, func() []moment {
		updated := func(want ...thing.Parameters) act { return then(forgetSent, pass, sent("Update", want...)) }
		max := func(s *stage) int { return *s.has().Scaling[0].MaxSize }
		return []moment{
			{"Create gets both, also in nested lists, and forProvider wins (R138, R141, R142, D46)", []act{nodeGroup, pass,
				sent("Create", thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: limits(1, 4, new(1))})}},
			{"neither creation nor late initialization copies it into the stored forProvider (R146, D46)", []act{keepsSpec(pass),
				object("no zone", func(mg *thing.Thing) bool { return mg.Spec.ForProvider.Zone == nil })}},
			{"an autoscaler may change what only initProvider sets (R138, R139, R143, R145)", []act{forgetSent,
				alter(func(r *thing.Resource) { r.Zone, r.Scaling = "zone-b", limits(1, 4, new(3)) }), pass, nothingNew, sent("Update"),
				holds("desired size 3", func(s *stage) bool { return *s.has().Scaling[0].DesiredSize == 3 })}},
			{"a user's later change of it is ignored (R140)", []act{edit(func(mg *thing.Thing) {
				mg.Spec.InitProvider.Zone, mg.Spec.InitProvider.ScalingConfig[0].DesiredSize = new("zone-c"), new(2)
			}), updated()}},
			{"an update because of something else does not send it (R144, R36)", []act{size(2),
				updated(thing.Parameters{Size: 2, ScalingConfig: limits(1, 4, nil)})}},
			{"what forProvider sets beside it is enforced (R137, R40)", []act{
				alter(func(r *thing.Resource) { r.Scaling[0].MaxSize = new(9) }), pass, holds("4",
					func(s *stage) bool { return max(s) == 4 })}},
			{"creating anew applies it again, as it is now (R148)", []act{wiped, forgetSent, pass,
				sent("Create", thing.Parameters{Size: 2, Zone: new("zone-c"), ScalingConfig: limits(1, 4, new(2))})}},
		}
	})
}

func TestInitProviderOnce(t *testing.T) {
	unknown := failure.OutcomeUnknown(errors.New("internal error"))
	play(t, scripts{
		// However Create ends, what it was given is gone from the object afterwards, and what it set stays.
		"a creation that is refused (R42, D46)":        {nodeGroup, keepsSpec(refuse("Create", errors.New("no room left")), passes(2))},
		"a creation whose answer is lost (R42, D46)":   {nodeGroup, keepsSpec(lose("Create", unknown), passes(2))},
		"a creation with the vendor's name (R65, D46)": {nodeGroup, vendorNames, keepsSpec(passes(2)), named("vendor-1")},
		"an update in the same pass (R42, R144, D46)": {nodeGroup,
			observed(func(_ *thing.Thing, o *observation) { o.ResourceUpToDate = false }), keepsSpec(pass), sent("Update", thing.Parameters{Size: 1, ScalingConfig: limits(1, 4, nil)})},
		// What the vendor requires may be given in either place, and must be in one.
		"required, in initProvider only (R147)": {edit(func(mg *thing.Thing) {
			mg.Spec.ForProvider, mg.Spec.InitProvider = thing.Parameters{}, &thing.Parameters{Size: 7}
		}), pass, sized(7)},
		"required, in neither (R147)": {func(s *stage) {
			mg := s.thing()
			mg.Spec.ForProvider = thing.Parameters{}
			if err := s.env.Client.Update(s.t.Context(), mg); !apierrors.IsInvalid(err) {
				s.t.Errorf("got %v", err)
			}
		}},
	})
}

// The client overwrites the whole spec with what the system reports; what may be stored is the reconciler's to decide.
func TestLateInitialization(t *testing.T) {
	vendor := thing.Resource{Size: 1, Zone: "zone-a", Scaling: limits(1, 5, nil), Tags: map[string]string{"by": "vendor"}}
	spec := func(p thing.Parameters) act {
		return edit(func(mg *thing.Thing) { p.DeepCopyInto(&mg.Spec.ForProvider) })
	}
	fills := func(from, want thing.Parameters) []act {
		becomes := func(s *stage) { s.equal("spec.forProvider", want, s.thing().Spec.ForProvider) }
		return []act{spec(from), give(vendor), pass, becomes, pass, becomes}
	}
	one, mine := thing.Parameters{Size: 1}, map[string]string{"mine": "too"}
	own := thing.Parameters{Size: 2, Zone: new("zone-b"), ScalingConfig: limits(2, 3, nil), Tags: map[string]string{"by": "me"}}
	zero := thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: limits(0, 5, nil), Tags: map[string]string{}}
	filled := zero
	filled.Tags = vendor.Tags
	playBoth(t, scripts{
		"what is empty is filled (R149, R150, R151, R157)": fills(one,
			thing.Parameters{Size: 1, Zone: new("zone-a"), ScalingConfig: vendor.Scaling, Tags: vendor.Tags}),
		"what the user set stays (R149, P26)": fills(own, own),
		"tags that the vendor added are filled in (R151)": {spec(thing.Parameters{Size: 1, Tags: mine}),
			give(thing.Resource{Size: 1, Tags: map[string]string{"mine": "too", "by": "vendor"}}), pass, func(s *stage) {
				s.equal("tags", map[string]string{"mine": "too", "by": "vendor"}, s.thing().Spec.ForProvider.Tags)
			}},
		"zero behind a pointer is the user's value, an empty map is not (R155)": fills(zero, filled),
		"what initProvider sets is not filled (R146)": append([]act{edit(func(mg *thing.Thing) {
			mg.Spec.InitProvider = &thing.Parameters{Zone: new("zone-c"), ScalingConfig: []thing.Scaling{{MinSize: new(3)}}}
		})}, fills(one, thing.Parameters{Size: 1, ScalingConfig: []thing.Scaling{{MaxSize: new(5)}}, Tags: vendor.Tags})...),
		"nothing without the policy (R152, R112)": append([]act{allow("Create", "Observe", "Update", "Delete")}, fills(one, one)...),
	})
}

// zoneOf makes the system choose a zone.
func zoneOf(zone string) act { return system(func(sys *thing.System) { sys.Zone = zone }) }

func setZone(zone string) act {
	return edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = &zone })
}

func TestFilledField(t *testing.T) {
	zone := give(thing.Resource{Size: 7, Zone: "zone-a"})
	stored := func(verb string) act {
		return func(s *stage) { s.play(sent(verb, s.thing().Spec.ForProvider)) }
	}
	next := func(s *stage) {
		s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Neighbour = new("next-outside") })
		key := s.neighbour("next", func(mg *thing.Thing) { meta.SetExternalName(mg, "next-outside") })
		s.play(pass, edit(func(mg *thing.Thing) {
			mg.Spec.ForProvider.Neighbour, mg.Spec.ForProvider.NeighbourRef = nil, &xpv1.Reference{Name: key.Name}
		}), pass, calls("Update", 0), object("the value is stored", func(mg *thing.Thing) bool {
			return mg.Spec.ForProvider.Neighbour != nil && *mg.Spec.ForProvider.Neighbour == "next-outside"
		}))
	}
	play(t, scripts{
		"a creation costs one write more where there is something to fill (R150)": {zoneOf("zone-a"), pass, wrote(5), pass, wrote(0)},
		"none where the user set all (R149, N13)":                                 {setZone("zone-a"), zoneOf("zone-a"), pass, wrote(4), pass, wrote(0)},
		"none where the system reports nothing to fill in (R149, N13)":            {pass, wrote(4), pass, wrote(0)},
		"the status of the pass that fills is kept (R156, R199)": {zoneOf("zone-a"), pass, sees(ready),
			object("all of it", func(mg *thing.Thing) bool {
				for _, c := range mg.Status.Conditions {
					if c.ObservedGeneration != mg.Generation {
						return false
					}
				}
				return mg.Spec.ForProvider.Zone != nil && mg.Status.AtProvider.Zone != nil
			})},
		"filling causes no Update, and what is filled is enforced (R137, R153, R154)": {zoneOf("zone-a"), passes(2), calls("Update", 0),
			alter(func(r *thing.Resource) { r.Zone = "zone-b" }), pass, holds("zone-a",
				func(s *stage) bool { return s.has().Zone == "zone-a" })},
		// What is sent is what the object shows, whether the call succeeds or not.
		"stored before a creation that fails (R42)": {
			edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Tags = map[string]string{"mine": "yes"} }),
			refuse("Create", errors.New("no room left")), pass, stored("Create")},
		"stored before an update that fails in the pass that fills (R42, R150, R67)": {zone, refuse("Update", errors.New("not now")),
			pass,
			stored("Update"), pass, resources(1), sized(1), holds("zone-a", func(s *stage) bool { return s.has().Zone == "zone-a" })},
		"nothing is sent if the spec could not be stored (R42, R78)": {zone, func(s *stage) {
			s.fault = func(string) (refuse, lose error) { return errors.New("the API server is away"), nil }
		}, try, sent("Update")},
		"another client's change wins over filling (R156, R17)": {zone, during("Observe", setZone("zone-b")), pass, sent("Update"),
			mended, pass,
			sees(ready), object("zone-b", func(mg *thing.Thing) bool { return *mg.Spec.ForProvider.Zone == "zone-b" })},
		"what a reference resolves to is stored while up to date (R161, R42)": {allow("*"), next},
		"what a reference resolves to is stored, nothing is filled (R161, R42, R112)": {allow("Observe", "Create", "Update",
			"Delete"), next},
	})
}

// What the schema refuses to take over keeps nothing else from being done, and is not tried all the time.
func TestRefusedFilling(t *testing.T) {
	tries := func(n int, message string, reasons ...event.Reason) act {
		return then(forget, pass, polled, emitted(reasons...), reports(message), func(s *stage) {
			if got := strings.Count(strings.Join(s.writes, "\n")+"\n", "/things/"+s.key.Name+"\n"); got != n {
				s.t.Errorf("tried to store it %d times, want %d", got, n)
			}
			mg, endpoint := s.thing(), s.connection()["endpoint"]
			synced := mg.GetCondition(xpv1.TypeSynced).Status == "True"
			if mg.GetCondition(xpv1.TypeReady).Status != "True" || synced != (message == "") ||
				s.has().Size != mg.Spec.ForProvider.Size || endpoint != "elsewhere" {
				s.t.Errorf("the user sees %s: %s, the resource is %+v, the endpoint %s", s.state(), s.message(), s.has(), endpoint)
			}
		})
	}
	const refused = "zone has more than 8 characters"
	live(t, map[string]act{"client": pass}, func() []moment {
		return []moment{
			{"the rest is done and the user sees it (R150, R206, R24)", []act{give(thing.Resource{Size: 7, Zone: "zone-with-a-long-name"}),
				endpoint("elsewhere"), tries(1, refused, managed.ReasonUpdated, managed.ReasonCannotFill)}},
			{"it is not tried again at once (N13)", []act{tries(0, refused)}},
			{"nor with an update (R24)", []act{resize(7), tries(0, "late initialization of zone", managed.ReasonUpdated)}},
			{"it is tried again at the poll (R150)", []act{later(66 * time.Second),
				tries(1, "leave LateInitialize out of managementPolicies")}},
			{"and when the spec changes (R150)", []act{size(2), tries(1, refused, managed.ReasonUpdated)}},
			{"until the user sets the field (R149, R196)", []act{setZone("zone-b"), tries(0, "", managed.ReasonUpdated)}},
		}
	})
}

func TestRefusedFillingOfNewResource(t *testing.T) {
	play(t, scripts{
		"a resource that is not usable yet is polled as soon as any (R44, R181, R150)": {zoneOf("zone-with-a-long-name"),
			observed(func(mg *thing.Thing, _ *observation) { mg.SetConditions(xpv1.Creating()) }), now,
			pass, requeued(1, time.Second), sees("Ready=Creating Synced=ReconcileError"), object("it is created",
				func(mg *thing.Thing) bool {
					return !meta.ExternalCreateIncomplete(mg) && mg.Status.AtProvider.Zone != nil
				})},
		"a refusal shows no sensitive value (R234, R150)": {give(thing.Resource{Size: 1,
			AccessToken: "hunter2-hunter2-hunter2-hunter2-hunter2"}), pass,
			reports("late initialization of accessToken", "not shown here"), holds("no token", func(s *stage) bool {
				return !strings.Contains(s.message()+fmt.Sprint(s.events.All()), "hunter2")
			})},
		"nor text instead of JSON, which may contain one (R234, R150)": {with(managed.WithParameters(parameters.Rules{JSON: []string{"zone"}})),
			zoneOf("zone-with-a-long-name"), pass, reports("late initialization of zone", "not shown here")},
	})
}
