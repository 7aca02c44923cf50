// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// suspected is an object whose creation began and has no result, of a kind whose names the system chooses.
var suspected = then(vendorNames, createPending, finalizer)

// leave is what an interrupted creation left behind.
func leave(s *stage) {
	s.system.Resources["left-behind"] = thing.Resource{Size: 1, Owner: s.thing().UID}
}

// A kind whose client cannot find what was created needs manual intervention.
func TestManualIntervention(t *testing.T) {
	waits := func(given act, state string) []act {
		want := event.Event{Type: "Warning", Reason: managed.ReasonCannotInitialize,
			Message: "cannot determine creation result - remove the crossplane.io/external-create-pending annotation if it is safe to proceed"}
		once := then(pass, requeued(0, 0), later(time.Hour))
		return []act{suspected, leave, given, once, wrote(1), once, once, wrote(0), called("Connect Connect Connect"), func(s *stage) {
			s.equal("events", []event.Event{want}, s.events.All())
			s.equal("message", want.Message, s.message())
		}, sees(state), object("the annotation stays", func(mg *thing.Thing) bool {
			return mg.Annotations[meta.AnnotationKeyExternalCreatePending] == pending
		})}
	}
	orphan := then(suspected, annotate(meta.AnnotationKeyOrphanOnDelete, "true"), deleted,
		faults(func(string) (error, error) { return errors.New("no credentials"), nil }), pass, sees(gone))
	play(t, scripts{
		"after an interrupted create (R81, R84, R85, R87, R91, R201, R225, N5)": waits(forget, refusedNew),
		"in deletion (R81, R84, R85, R87, R91, N32)":                            waits(deleted, "Ready=Deleting Synced=ReconcileError"),
		"removing the annotation resumes (R86, N5)": {suspected, pass, annotate(meta.AnnotationKeyExternalCreatePending, ""), pass,
			named("vendor-1"), sees(ready)},
		"a suspected leak whose provider is out of reach is orphaned (N31, N32)":           {orphan},
		"a suspected leak whose provider is out of reach is orphaned, findable (N31, N32)": {findable, orphan},
	})
}

// A kind whose client finds what was created needs no manual intervention.
func TestFindsCreated(t *testing.T) {
	const window = 10 * time.Minute
	started := then(findable, suspected, with(managed.WithConsistencyWindow(window)))
	before, after := later(window-time.Second), later(window+time.Second)
	soon := then(requeued(1, time.Minute+time.Minute/10), incomplete)
	ended := then(sees(ready), requeued(1, time.Minute+time.Minute/10), resources(1), complete)
	const waiting = "Ready= Synced=ReconcileSuccess"
	playBoth(t, scripts{
		"found (N5)":                     {unwanted, started, leave, pass, called("Connect FindCreated Observe"), ended, named("left-behind")},
		"absent, too soon to know (N26)": {started, before, pass, called("Connect FindCreated"), sees(waiting), soon, named("")},
		"proven absent (N5, N26)":        {started, after, pass, called("Connect FindCreated Create Observe"), ended, named("vendor-1")},
		"found in deletion (N5, R61)": {started, leave, deleted, pass, called("Connect FindCreated Observe Delete Observe"), sees(gone),
			resources(0)},
		"known at once to have made nothing (N99)": {started, before, refuse("FindCreated", managed.ErrCreateAgain), pass,
			called("Connect FindCreated Create Observe"), ended, named("vendor-1")},
		"known at once to have made nothing, in deletion (N99)": {started, deleted, before, refuse("FindCreated", managed.ErrCreateAgain), pass,
			called("Connect FindCreated"), sees(gone)},
		"absent in deletion, too soon to know (N26, R94)": {started, deleted, before, pass, called("Connect FindCreated"),
			sees("Ready=Deleting Synced=ReconcileSuccess"), soon},
		"proven absent in deletion (N5, R59, R61)": {started, deleted, after, pass, called("Connect FindCreated"), sees(gone),
			resources(0)},
		"a lookup that fails proves nothing and is repeated (N5, N26, R27)": {findable, suspected, later(time.Hour),
			refuse("FindCreated", errors.New("search is down")), pass, requeued(1, time.Second), reports("search is down"),
			calls("Create", 0), leave, pass, named("left-behind")},
	})
}

// A system that turns a creation away costs one write, however often it does so; one for each attempt where the time of
// the attempt counts.
func TestTurnedAwayCreation(t *testing.T) {
	away := func(n int) act {
		return then(refuse("Create", busy{}), pass, requeued(4*time.Second, 6*time.Second), wrote(n), emitted())
	}
	turned := func(again int) act {
		return then(away(1), away(again), away(again), pass, emitted(managed.ReasonCreated), resources(1), calls("Create", 4),
			wrote(3+again)) // Secret, success and status
	}
	busyOnce := then(findable, refuse("Create", busy{}), pass)
	timesOut := then(lose("Create", context.DeadlineExceeded), pass)
	play(t, scripts{
		"chosen names (N5, R80, R95)":        {turned(0)},
		"findable names (N5, N26, R80, R95)": {findable, turned(1)},
		"tokens (N22, R80, R95)":             {replays, turned(0)},
		// What is known of an attempt that was turned away counts for that attempt only.
		"it proves nothing about the next attempt (N5, N11, R84)": {busyOnce, timesOut, passes(3), resources(1), named("vendor-1")},
		"an attempt long after it has a window of its own (N26)": {busyOnce, later(time.Hour), timesOut, hidden, passes(3),
			calls("Create", 2), resources(1)},
		"a restarted process does not know that it was turned away (N5, N26)": {busyOnce, restarted, pass, calls("Create", 1),
			later(time.Minute), pass, sees(ready), resources(1)},
		"a kind that would need manual intervention records the failure (R80, R84)": {vendorNames, refuse("Create", busy{}), pass,
			object("the failure", func(mg *thing.Thing) bool {
				return !meta.ExternalCreateIncomplete(mg) && !meta.GetExternalCreateFailed(mg).IsZero()
			})},
	})
}

// Systems that are eventually consistent do not show at once what was created.
func TestNotSeenYet(t *testing.T) {
	unseen := then(hidden, pass)
	stillOnce := then(requeued(1, time.Second), calls("Create", 1))
	play(t, scripts{
		"it is not created twice, also after a restart (R88, R89, N20)": {unseen, later(29 * time.Second), pass, stillOnce,
			restarted, pass, stillOnce, shown, pass, sees(ready)},
		"after the grace period it is created anew (R90)": {unseen, wiped, later(31 * time.Second), pass, calls("Create", 2)},
		"its deletion waits, and then deletes it (R94, N20)": {unseen, deleted, pass, requeued(1, 30*time.Second),
			object("it waits", func(mg *thing.Thing) bool { return mg != nil }), shown, pass, sees(gone), resources(0)},
		"after the grace period the object goes (R94)": {unseen, deleted, later(31 * time.Second), pass, sees(gone)},
		"another process does not report it Ready while it is not visible (R88, N44)": {pass, hidden, restarted, pass,
			sees("Ready=Unavailable Synced=ReconcileSuccess"), shown, pass, sees(ready)},
		"in the background, without grace (R88, R197, N5)": {vendorNames, inBackground, with(managed.WithCreationGracePeriod(0)),
			hidden, untilOperation("Finished Success"), calls("Create", 1), complete, shown, pass, sees(ready), resources(1)},
	})
}

// An offer is what an external system offers against interrupted creates.
type offer struct {
	given         act
	keepsPassword bool
	mayNeedHuman  bool
}

// offers are those that make a difference to creates.
var offers = map[string]offer{
	"tokens":                  {given: replays, keepsPassword: true},
	"chosen credentials":      {given: chooses, keepsPassword: true},
	"labels only":             {given: func(*stage) {}},
	"no labels":               {given: unlabelled},
	"tokens and vendor names": {given: then(vendorNames, replays), keepsPassword: true},
	"vendor names, findable":  {given: findable},
	"vendor names":            {given: vendorNames, mayNeedHuman: true},
}

// operations on an object that was prepared in good health.
var operations = map[string]struct {
	prepare act
	want    int      // external resources in the end
	of      []string // the offers that make a difference; none: all
}{
	"create":                           {prepare: func(*stage) {}, want: 1},
	"recreate":                         {prepare: then(pass, wiped), want: 1},
	"recreate with permission by UID":  {prepare: then(holdsData, pass, wiped, permittedByUID), want: 1},
	"recreate with permission by time": {prepare: then(holdsData, pass, later(time.Minute), wiped, permittedAt(0)), want: 1},
	"create in another system, permitted": {prepare: then(inSystem, pass, later(time.Minute), moved, permittedAt(0)), want: 1, of: []string{"chosen credentials",
		"labels only", "tokens and vendor names", "vendor names, findable"}},
	"update": {prepare: then(pass, size(2)), want: 1, of: []string{"chosen credentials", "labels only", "no labels"}},
	"rotate": {prepare: then(pass, later(time.Minute), rotateAt(0)), want: 1, of: []string{"chosen credentials"}},
	"delete": {prepare: then(pass, deleted), of: []string{"labels only", "no labels", "no labels, shared", "vendor names"}},
}

// Wherever the process crashes or loses an answer, the next passes finish the work: nothing is leaked, doubled or forgotten, and no
// password is lost quietly. A
// crash before a request is the crash after the one before.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	env := controlplanetest.NewWithScheme(t, scheme())
	all := maps.Clone(offers)
	all["a kind by name"], all["a kind by label"] = offer{given: functions}, offer{given: then(findable, functions)}
	all["no labels, shared"] = offer{given: shared}
	all["vendor names, shared"] = offer{given: then(vendorNames, shared), mayNeedHuman: true}
	all["tokens and vendor names, shared"] = offer{given: then(vendorNames, replays, shared), keepsPassword: true}
	for of, offer := range all {
		for name, operation := range operations {
			if operation.of != nil && !slices.Contains(operation.of, of) {
				continue
			}
			t.Run(fmt.Sprintf("%s with %s (N5, N11, N22, N36, N38, N50, N54, N55, R77, R79, R93)", name, of), func(t *testing.T) {
				t.Parallel()
				scenario.Script[*crashStage]{
					Given: func(s *crashStage) { s.play(offer.given, operation.prepare, later(time.Minute)) },
					Then:  (*crashStage).check, Requests: 2, Kinds: []fault.Kind{fault.CrashAfter, fault.AnswerLost},
				}.Run(t, func() *crashStage {
					return &crashStage{stage: stageIn(t, env), offer: offer, want: operation.want}
				})
			})
		}
	}
}

// A crashStage is a world for one operation.
type crashStage struct {
	*stage
	offer   offer
	want    int
	process *fault.Process
	settled bool // the last pass had nothing to do
}

// Restart satisfies scenario.World.
func (s *crashStage) Restart(p *fault.Process) {
	s.begin()
	s.process, s.reconciler, s.stage.fault = p, nil, p.Request
	s.system.Fault = func(verb string) (refuse, lose error) {
		switch {
		case verb != "Connect" && verb != "Observe":
			return p.Request(verb)
		case p.Crashed():
			return fault.ErrCrashed, nil
		}
		return nil, nil
	}
}

// Settle satisfies scenario.World.
func (s *crashStage) Settle() {
	s.settled = false
	for range 4 {
		forget(s.stage)
		if err := s.tryPass(); err != nil && s.process.Kind == "" {
			s.t.Errorf("%v", err)
		}
		calls := strings.Join(s.system.TakeCalls(), " ")
		s.settled = len(s.writes) == 0 && slices.Contains([]string{"", "Connect", "Connect Observe"}, calls)
		if s.settled || s.process.Crashed() {
			return
		}
		s.clock = s.clock.Add(time.Minute)
	}
}

// Close satisfies scenario.World. What is left ends with the test.
func (s *crashStage) Close() { s.stage.fault, s.system.Fault = nil, nil }

// Invariant satisfies scenario.Invariant.
func (s *crashStage) Invariant() error {
	if n := len(s.system.Snapshot()); n > 1 {
		return fmt.Errorf("%d resources", n)
	}
	return nil
}

func (s *crashStage) check() error {
	resources, mg := s.system.Snapshot(), s.thing()
	if s.offer.mayNeedHuman && mg != nil && xpv1.FailureOf(mg).Reason == failure.CreateInterrupted {
		return nil
	}
	state, lost := map[int]string{0: gone, 1: ready}[s.want], false
	if mg != nil && !s.offer.keepsPassword && xpv1.FailureOf(mg).Reason == failure.ConnectionDetailsLost {
		state, lost = lostDetails, true
	}
	if got := s.state(); len(resources) != s.want || got != state {
		return fmt.Errorf("%d resources, want %d, the user sees %s: %s", len(resources), s.want, got, s.message())
	}
	if mg != nil && mg.Annotations[meta.AnnotationKeyRecreate] == string(mg.UID) {
		return errors.New("a permission that was used is left")
	}
	for _, have := range resources {
		if want := mg.Spec.ForProvider.Size; have.Size != want || meta.ExternalCreateUnacknowledged(mg) {
			return fmt.Errorf("size %d, want %d, annotations %v", have.Size, want, mg.Annotations)
		}
		if pending, asked := s.connection()["password.pending"], meta.GetRotateCredentialsAt(mg); pending != "" || mg.Status.Credentials.LastRotationTime.IsZero() != asked.IsZero() {
			return fmt.Errorf("the rotation is not complete: %q is pending, status %v", pending, mg.Status.Credentials)
		}
		if got := s.connection()["password"]; lost == (got == have.Password) {
			return fmt.Errorf("credentials-lost: the Secret's password is %q, the resource's %q, the user sees %s", got, have.Password, s.state())
		}
	}
	if !s.settled {
		return fmt.Errorf("each pass wrote %v (N13)", s.writes)
	}
	return nil
}

var (
	incomplete = object("the creation has no result", func(mg *thing.Thing) bool { return meta.ExternalCreateIncomplete(mg) })
	complete   = object("the creation has a result", func(mg *thing.Thing) bool { return !meta.ExternalCreateIncomplete(mg) })
)

// A write that landed although its answer was lost begins no creation that needs manual intervention.
func TestLostAnswerOfBegin(t *testing.T) {
	begun := then(func(s *stage) {
		lost := io.ErrUnexpectedEOF
		s.fault = func(request string) (refuse, lose error) {
			if !strings.HasPrefix(request, "PATCH") {
				return nil, nil
			}
			defer func() { lost = nil }()
			return nil, lost
		}
	}, pass, calls("Create", 0), incomplete, pass, sees(ready), resources(1))
	play(t, scripts{
		"cannot find (R77, R84, N5)": {vendorNames, begun},
		"can find (R77, N26)":        {findable, begun},
	})
}
