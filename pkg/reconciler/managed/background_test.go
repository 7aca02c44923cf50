// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// operation is what the user sees of calls in the background.
func (s *stage) operation() string {
	s.t.Helper()
	mg := s.thing()
	if mg == nil {
		return gone
	}
	return fmt.Sprintf("%s %s", mg.GetCondition(xpv1.TypeAsyncOperation).Reason, mg.GetCondition(xpv1.TypeLastAsyncOperation).Reason)
}

func untilOperation(want string) act {
	return until(want, func(s *stage) bool { return s.operation() == want })
}

func operation(want string) act {
	return func(s *stage) { s.t.Helper(); s.equal("operation", want, s.operation()) }
}

// untilEvent passes until an event of a reason was emitted, and no further.
func untilEvent(reason event.Reason) act {
	return until(string(reason), func(s *stage) bool { return slices.Contains(s.events.Take(), reason) })
}

// eventually waits for what a call in the background does.
func eventually(what string, ok func(*stage) bool) act {
	return func(s *stage) {
		s.t.Helper()
		testkit.Eventually(s.t, what, func() error {
			if !ok(s) {
				return fmt.Errorf("resources %+v, calls %v", s.system.Snapshot(), s.system.Calls)
			}
			return nil
		})
	}
}

// held makes calls of a verb last until the acts are over.
func held(verb string, acts ...act) act {
	return func(s *stage) {
		release := make(chan struct{})
		defer close(release)
		s.play(during(verb, func(*stage) { <-release }))
		s.play(acts...)
	}
}

func TestBackground(t *testing.T) {
	done := untilOperation("Finished Success")
	stores := then(done, sees(ready), publishes(map[string]string{"endpoint": "there", "password": "password-1"}),
		calls("Create", 1))
	crashed := then(inBackground, unlabelled,
		held("Create", pass, restarted), // what the dead process asked for is done all the same
		eventually("the resource exists", func(s *stage) bool { return len(s.system.Snapshot()) == 1 }), pass, resources(1))
	spins := func(verb string) act {
		return then(forget, untilOperation("Ongoing Success"), done,
			eventually("one call", func(s *stage) bool { return s.system.Called(verb) == 1 }))
	}
	refused := func(verb, want string, reason event.Reason, given ...act) []act {
		end := then(done, sees(ready))
		if verb == "Delete" {
			end = untilOperation(gone)
		}
		return slices.Concat([]act{inBackground}, given, []act{forget, refuseAll(verb, errors.New("over quota")), untilOperation(want),
			reports("over quota"), holds("Synced", func(s *stage) bool { return strings.HasSuffix(s.state(), "Synced=ReconcileError") }),
			emitted(reason), mended, end})
	}
	refusedAfter := func(acts ...act) act { // a creation is refused once the acts are over
		return func(s *stage) {
			release := make(chan struct{})
			defer close(release)
			s.play(faults(func(verb string) (refuse, lose error) {
				if verb == "Create" {
					<-release
					refuse = errors.New("over quota")
				}
				return refuse, nil
			}))
			s.play(acts...)
		}
	}
	play(t, scripts{
		"a failure stays reported while the call is repeated, after longer and longer pauses (N99)": {inBackground,
			refusedAfter(pass, sees("Ready=Creating Synced=ReconcileSuccess")), untilOperation("Finished ApplyFailure"), requeued(1, time.Second-1),
			refusedAfter(pass, operation("Ongoing ApplyFailure"), sees("Ready=Creating Synced=ReconcileError"), reports("over quota")),
			untilOperation("Finished ApplyFailure"), requeued(time.Second, 2*time.Second-1),
			refusedAfter(size(2), pass, sees("Ready=Creating Synced=ReconcileSuccess")), untilOperation("Finished ApplyFailure"), mended, done, sees(ready)},
		"the pass ends while a call runs, and waiting is written once (R197, R189, T53, N13)": {inBackground, held("Create",
			pass, operation("Ongoing "), sees("Ready=Creating Synced=ReconcileSuccess"), func(s *stage) { s.writes = nil },
			pass, wrote(0))},
		"the end of a call is acted on (R188, R190, R207)": {inBackground, stores},
		"a refused creation (R191)":                        refused("Create", "Finished ApplyFailure", managed.ReasonCannotCreate),
		"a refused update shows in Synced (R191, R27)": refused("Update", "Finished ApplyFailure", managed.ReasonCannotUpdate,
			done, size(2)),
		"a refused deletion (R192, R60)": refused("Delete", "Finished DestroyFailure", managed.ReasonCannotDelete, done, deleted),
		// A process that dies leaves the creation pending, and the next one follows the same rules as after any interrupted create.
		"after a crash a known name is found (R197, N5)":         {crashed, sees(lostDetails)},
		"after a crash an unknown name is not found (R197, R84)": {vendorNames, crashed, sees("Ready=Creating Synced=ReconcileError")},
		// While the vendor works on it, another call follows at the next poll, not at once.
		"an Update is not repeated at once (R55, R197, N8)": {inBackground, done, stubborn, size(2), spins("Update")},
		"a Delete is not repeated at once (R55, R197, N8)":  {inBackground, done, slowDelete, deleted, spins("Delete")},
		"a newer spec is sent by the pass that takes up the end of the update (R24, R197)": {inBackground, done, size(2),
			held("Update", pass, size(3)), untilEvent(managed.ReasonUpdated), operation("Ongoing Success"),
			eventually("the resource has the newer size", func(s *stage) bool { return s.has().Size == 3 })},
		// An object does not report for ever a call that no process knows any more.
		"an end that is lost with its process (R188, R197)": {inBackground, held("Create", pass, operation("Ongoing ")),
			restarted, pass, operation("Finished ")},
		"an end that is lost in a status that could not be written (R188, R197)": {inBackground,
			held("Create", pass, operation("Ongoing ")),
			statusAway, eventually("the end is taken up", func(s *stage) bool { return s.tryPass() != nil }),
			func(s *stage) { s.fault = nil }, pass, operation("Finished ")},
	})
}

// A pause lets what runs in the background end, and forgets nothing of it.
func TestBackgroundPause(t *testing.T) {
	all := scripts{}
	for name, by := range pauses {
		all["a creation, by "+name+" (R98, R100, R197, N22)"] = []act{inBackground, vendorNames,
			held("Create", pass, by.pause, pass, requeued(0, 0), sees("Ready=Creating Synced=ReconcilePaused")),
			untilOperation("Finished Success"),
			holds("it is paused", func(s *stage) bool { return strings.HasSuffix(s.state(), "Synced=ReconcilePaused") }),
			named("vendor-1"), holds("the password is stored", func(s *stage) bool { return s.connection()["password"] == "password-1" }),
			restarted, by.resume, later(time.Hour), pass, sees(ready), resources(1)}
	}
	play(t, all)
}

// What a call in the background sets in the status counts as if the call had been made within the pass.
func TestBackgroundStatus(t *testing.T) {
	sets := system(func(sys *thing.System) {
		sys.Created = func(mg *thing.Thing, _ *managed.ExternalCreation) error {
			queued := xpv1.Condition{Type: "Progress", Status: "True", Reason: "Queued", LastTransitionTime: metav1.Now()}
			mg.SetConditions(queued, xpv1.Unavailable())
			mg.Status.AtProvider.Size = 99
			return nil
		}
	})
	shows := func(bound xpv1.BindingPhase) act {
		return then(sees(ready), object("Observe has the last word", func(mg *thing.Thing) bool {
			return mg.GetCondition("Progress").Reason == "Queued" && mg.Status.AtProvider.Size == 1 && mg.GetBindingPhase() == bound
		}))
	}
	bind := func(s *stage) {
		s.editStatus(s.key, func(mg *thing.Thing) { mg.SetBindingPhase(xpv1.BindingPhaseBound) })
	}
	play(t, scripts{
		"within the pass (R30, R32)": {sets, pass, shows("")},
		"in the background, while another client writes (R30, R32, R197)": {sets, inBackground, held("Create", pass, bind),
			untilEvent(managed.ReasonCreated), shows(xpv1.BindingPhaseBound)},
	})
}

// The provider's code must not end the process, and the object reports the panic.
func TestPanic(t *testing.T) {
	stumble := during("Create", func(*stage) {
		var missing *thing.Thing
		missing.Name = "a mistake of the provider"
	})
	playBoth(t, scripts{
		"in the background (R197, R185)": {inBackground, stumble, untilOperation("Finished ApplyFailure"),
			reports("panicked during create"),
			emitted(managed.ReasonPanicked), object("the failure", func(mg *thing.Thing) bool {
				return xpv1.FailureOf(mg).Reason == failure.ProviderPanicked
			})},
		"in a pass, and all goes well once it is mended (R185)": {measured, stumble, pass, reports("the provider's code panicked"),
			counts("bowline_external_call_duration_seconds", "unknown create", 1), mended, later(time.Minute), pass, resources(1)},
	})
}

// Nor must code that is called beside the verbs.
func TestPanicBeside(t *testing.T) {
	rude := then(func(s *stage) {
		s.options = append(s.options, managed.WithTypedExternalConnecter[*thing.Thing](rudeSystem{s.system}))
	}, refuse("Create", (*brokenError)(nil)), until("the error", func(s *stage) bool {
		return strings.HasSuffix(s.state(), "ReconcileError")
	}))
	play(t, scripts{
		"within the pass (R16)":   {rude},
		"in the background (R16)": {inBackground, rude},
	})
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// A rudeSystem is one whose clients panic in all that is asked of them beside the calls.
type rudeSystem struct{ *thing.System }

func (r rudeSystem) Connect(ctx context.Context, mg *thing.Thing) (managed.TypedExternalClient[*thing.Thing], error) {
	external, err := r.System.Connect(ctx, mg)
	return rudeClient{external}, err
}

type rudeClient struct {
	managed.TypedExternalClient[*thing.Thing]
}

func (rudeClient) SecretValues() [][]byte { panic("no secrets") }

func (rudeClient) Disconnect(context.Context) error { panic("no hanging up") }
