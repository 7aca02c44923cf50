// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// FuzzLife plays acts that the fuzzer chooses with one Thing. It checks after each pass what must hold at any time, and at the
// end that the Thing settles once its external system is healthy. Each byte is a choice. A failure lists what was chosen.
func FuzzLife(f *testing.F) {
	env := controlplanetest.NewWithScheme(f, scheme())
	f.Fuzz(func(t *testing.T, script []byte) {
		l := &fuzzedLife{stage: stageIn(t, env), script: script[:min(len(script), 48)], elsewhere: map[string]thing.Resource{}}
		defer func() {
			if t.Failed() {
				t.Logf("the acts were: %s", strings.Join(l.story, "; "))
			}
		}()
		l.setup()
		for len(l.script) > 0 && !t.Failed() {
			l.act()
		}
		if !t.Failed() {
			l.heal()
		}
	})
}

// A fuzzedLife is a stage whose acts are chosen by the bytes of a script.
type fuzzedLife struct {
	*stage
	script []byte
	story  []string
	offer  offer
	// elsewhere are the resources of the external system that the provider configuration does not lead to.
	elsewhere map[string]thing.Resource
	numbers   int    // of replacements
	held      bool   // it had an external resource since a person last permitted to create it again
	faulted   string // the verb whose call did not go well in this pass
}

// choose takes the next byte as a choice of n; at the end of the script it is 0.
func (l *fuzzedLife) choose(n int) int {
	if len(l.script) == 0 {
		return 0
	}
	choice := int(l.script[0]) % n
	l.script = l.script[1:]
	return choice
}

// pick chooses from a map of named values, and notes the name.
func pick[V any](l *fuzzedLife, from map[string]V) (string, V) {
	names := slices.Sorted(maps.Keys(from))
	name := names[l.choose(len(names))]
	l.story = append(l.story, name)
	return name, from[name]
}

// setup creates the Thing. The external system shows its password in every text.
func (l *fuzzedLife) setup() {
	_, serve := pick(l, map[string]act{"client": func(*stage) {}, "functions": functions, "untyped": untyped})
	_, l.offer = pick(l, offers)
	_, recreate := pick(l, map[string]act{"recreates": func(*stage) {}, "holds data": recreatePolicy(xpv1.RecreateOnRequest)})
	l.log = &logLines{}
	repeats := observed(func(mg *thing.Thing, o *observation) {
		if o.ResourceExists {
			mg.SetConditions(xpv1.Available().WithMessage(careless))
		}
	})
	l.system.Numbers = true
	l.play(identified("a"), password(canaryInput), recreate, serve, l.offer.given, with(managed.WithLogger(l.log.logger(10))), repeats)
	l.begin()
}

// careless is a text with the password in all spellings, not nested.
var careless = "the password is " + strings.Join(slices.Delete(spellings()[12:18], 2, 3), " or ")

const otherOwner = "0d9f7a1e-another-owner"

func isForeign(_ string, r thing.Resource) bool { return r.Owner == otherOwner }
func isOurs(_ string, r thing.Resource) bool    { return r.Owner != otherOwner }

// act plays an act, and mostly a pass after it.
func (l *fuzzedLife) act() {
	if l.thing() == nil {
		l.script = nil // nothing is left to play with
		return
	}
	_, play := pick(l, lifeActs)
	if play(l); l.choose(4) > 0 {
		l.observePass()
	}
}

func always(acts ...act) func(*fuzzedLife) { return func(l *fuzzedLife) { l.play(acts...) } }

// lifeActs are what users, other clients and the external system do.
var lifeActs = map[string]func(*fuzzedLife){
	"a minute later":  always(later(time.Minute)),
	"an hour later":   always(later(time.Hour)),
	"restart":         always(restarted),
	"mended":          always(mended),
	"lost outside":    always(wiped),
	"another system":  (*fuzzedLife).swapSystem,
	"paused":          always(annotate(meta.AnnotationKeyReconciliationPaused, "true")),
	"resumed":         always(annotate(meta.AnnotationKeyReconciliationPaused, "")),
	"only observed":   always(allow("Observe")),
	"all policies":    always(allow("*")),
	"unhealthy":       always(failed(errors.New(careless))),
	"healthy":         always(failed(nil)),
	"stubborn":        always(stubborn),
	"slow to delete":  always(slowDelete),
	"crash":           (*fuzzedLife).crash,
	"failing call":    (*fuzzedLife).failCall,
	"deleted":         (*fuzzedLife).deleteOnce,
	"lost by then":    func(l *fuzzedLife) { l.during(func(string) { maps.DeleteFunc(l.system.Resources, isOurs) }) },
	"deleted by then": func(l *fuzzedLife) { l.during(func(string) { l.deleteOnce() }) },
	"edited by then":  func(l *fuzzedLife) { l.during(func(string) { l.play(size(6)) }) },
	"panic":           func(l *fuzzedLife) { l.during(func(text string) { panic(text) }) },
	"changed outside": func(l *fuzzedLife) { l.change(func(r *thing.Resource) { r.Size += 3 }) },
	"stolen":          func(l *fuzzedLife) { l.label(otherOwner) },
	"without a label": func(l *fuzzedLife) { l.label("") },
	"given back":      func(l *fuzzedLife) { l.label(l.thing().UID) },
	"replaced": func(l *fuzzedLife) {
		l.change(func(r *thing.Resource) { *r = thing.Resource{Size: 9} })
		l.label(otherOwner)
	},
	"replaced, without a label": func(l *fuzzedLife) {
		l.numbers++
		l.change(func(r *thing.Resource) { *r = thing.Resource{Size: 9, ID: fmt.Sprintf("new-%d", l.numbers)} })
	},
	"size": func(l *fuzzedLife) { l.play(size(1 + l.choose(5))) },
	"zone": always(edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone = new("north") })),
}

// verb chooses one, and the text of its error: Connect is given no password.
func (l *fuzzedLife) verb() (verb, text string) {
	return pick(l, map[string]string{"Connect": "no connection", "Observe": careless, "FindCreated": careless, "Create": careless,
		"Update": careless, "Delete": careless})
}

// swapSystem has the provider configuration lead to the other one of two external systems.
func (l *fuzzedLife) swapSystem() {
	l.system.Do(func(s *thing.System) {
		s.Resources, l.elsewhere = l.elsewhere, s.Resources
		s.Identity.ID = map[string]string{"a": "b", "b": "a"}[s.Identity.ID]
	})
}

// isElsewhere is true if the Thing has its external resource in the other system, and its status shows that.
func (l *fuzzedLife) isElsewhere(mg *thing.Thing) bool {
	_, exists := l.elsewhere[meta.GetExternalName(mg)]
	in := mg.Status.ExternalSystem.ID
	return exists && in != "" && in != l.system.Identity.ID
}

// change changes the external resource that the Thing names, if there is one.
func (l *fuzzedLife) change(do func(*thing.Resource)) {
	name := meta.GetExternalName(l.thing())
	if have, exists := l.system.Snapshot()[name]; exists {
		do(&have)
		l.system.Do(func(s *thing.System) { s.Resources[name] = have })
	}
}

// label changes the owner of the external resource, where the system stores owners.
func (l *fuzzedLife) label(owner types.UID) {
	if !l.system.Unlabelled {
		l.change(func(r *thing.Resource) { r.Owner = owner })
	}
}

func (l *fuzzedLife) deleteOnce() {
	if mg := l.thing(); mg != nil && !meta.WasDeleted(mg) {
		l.delete()
	}
}

// during does something at the next call of a verb.
func (l *fuzzedLife) during(do func(text string)) {
	verb, text := l.verb()
	l.play(faults(func(called string) (error, error) {
		if called == verb {
			l.system.Fault, l.faulted = nil, verb
			do(text)
		}
		return nil, nil
	}))
}

// refusals prove that a call had no effect; after the others it may have had one.
var (
	refusals = map[string]error{
		"invalid":      failure.Terminal(failure.ForTeam(failure.InvalidSettings, careless, errors.New(careless))),
		"denied":       failure.With(failure.ExternalSystemRefused, errors.New(careless)),
		"quota":        failure.ForTeam(failure.QuotaExceeded, careless, errors.New(careless)),
		"throttled":    failure.Throttled(errors.New(careless), 4*time.Second),
		"unreachable":  failure.Unreachable(fmt.Errorf("%s: %w", careless, syscall.ECONNREFUSED)),
		"unclassified": errors.New(careless),
	}
	unknowns = map[string]error{
		"outcome unknown": failure.OutcomeUnknown(errors.New(careless)),
		"timeout":         fmt.Errorf("%s: %w", careless, context.DeadlineExceeded),
		"broken":          fmt.Errorf("%s: %w", careless, io.ErrUnexpectedEOF),
	}
)

// failCall makes the next call of a verb fail, or all.
func (l *fuzzedLife) failCall() {
	verb, text := l.verb()
	once, when := l.choose(2) == 0, l.choose(3)
	_, err := pick(l, []map[string]error{refusals, unknowns, unknowns}[when])
	if verb == "Connect" {
		when, err = 0, errors.New(text)
	}
	l.play(faults(func(called string) (error, error) {
		switch {
		case called != verb:
			return nil, nil
		case once:
			l.system.Fault = nil
		}
		if l.faulted = verb; when == 2 { // after its work
			return nil, err
		}
		return err, nil
	}))
}

// crash ends the process before or after one of its next requests, or loses the answer to it. Another process takes over.
func (l *fuzzedLife) crash() {
	_, kind := pick(l, map[string]fault.Kind{"before": fault.CrashBefore, "after": fault.CrashAfter, "lost": fault.AnswerLost})
	process := &fault.Process{At: fault.Point{N: 1 + l.choose(8)}, Kind: kind}
	l.story = append(l.story, process.At.String())
	world := &crashStage{stage: l.stage}
	world.Restart(process)
	l.faulted = "crash"
	l.observePass()
	world.Close()
	if process.Crashed() {
		l.play(restarted)
	}
}

// observePass passes and checks what must hold at any time.
func (l *fuzzedLife) observePass() {
	l.story = append(l.story, "pass")
	before := l.thing()
	if before == nil {
		return
	}
	theirs, found := l.resources(before)
	replacement, replaced := l.replacement(before)
	l.system.TakeCalls()
	err, after := l.tryPass(), l.thing()
	foreign, own := l.resources(before)
	l.equal("resources of another owner", theirs, foreign)
	if now := l.system.Snapshot()[meta.GetExternalName(before)]; replaced && l.faulted == "" && (now.ID != replacement.ID || now.Owner != "" || now.Size != replacement.Size) {
		l.t.Errorf("the external resource was replaced by %+v, which is now %+v; the object was %+v", replacement, now, before)
	}
	created := l.system.Called("Create") > 0
	l.held = l.held && before.Spec.RecreatePolicy != "" && before.Annotations[meta.AnnotationKeyRecreate] == ""
	if l.held && created {
		l.t.Errorf("the external resource held data and is created again; the object was %+v", before)
	}
	if l.isElsewhere(before) && len(found) == 0 && before.Annotations[meta.AnnotationKeyRecreate] == "" &&
		(after == nil && resource.MayDeleteExternal(before) || created) {
		l.t.Errorf("the external resource is in another system; the object was %+v, and is %+v", before, after)
	}
	if len(own) > 1 || after == nil && len(own) > 0 && resource.MayDeleteExternal(before) {
		l.t.Errorf("one object, now %+v, has resources %v", after, own)
	}
	l.held = l.held || created && l.faulted == "" || after != nil && after.GetCondition(xpv1.TypeReady).Status == "True"
	l.checkSecrets(after, err)
	l.checkReady(after)
	l.faulted = ""
}

// replacement returns what has the name of the Thing's external resource, but neither its identity nor a label, if no person accepts it.
func (l *fuzzedLife) replacement(mg *thing.Thing) (thing.Resource, bool) {
	have, had := l.system.Snapshot()[meta.GetExternalName(mg)], mg.Status.ExternalIdentity
	another := had.ID != "" && have.ID != "" && have.ID != had.ID && had.ExternalName == meta.GetExternalName(mg)
	return have, another && have.Owner == "" && !l.system.Unlabelled && mg.Spec.RecreatePolicy != "" && mg.Annotations[meta.AnnotationKeyRecreate] == ""
}

// resources returns those of another owner, and those that were created for the Thing.
func (l *fuzzedLife) resources(mg *thing.Thing) (foreign, own map[string]thing.Resource) {
	foreign, own = l.system.Snapshot(), l.system.Snapshot()
	maps.DeleteFunc(foreign, isOurs)
	maps.DeleteFunc(own, func(_ string, r thing.Resource) bool { return isForeign("", r) || r.Token != meta.CreationToken(mg) })
	return foreign, own
}

// checkSecrets looks for the password in everything that users and operators read.
func (l *fuzzedLife) checkSecrets(mg *thing.Thing, err error) {
	if mg != nil {
		mg.ManagedFields = nil
	}
	object, _ := json.Marshal(mg)
	text := fmt.Sprintf("object %s, events %+v, error %v, log %v", object, l.events.All(), err, l.log.take())
	if secret := leaked(text); secret != "" {
		l.t.Errorf("%s shows in %s", secret, text)
	}
}

// checkReady compares condition Ready with the external system, if the pass saw it.
func (l *fuzzedLife) checkReady(mg *thing.Thing) {
	if mg == nil || l.faulted != "" || l.system.Called("Observe") == 0 || mg.GetCondition(xpv1.TypeReady).Status != "True" {
		return
	}
	have, exists := l.system.Snapshot()[meta.GetExternalName(mg)]
	stolen := have.Owner == otherOwner && !slices.Equal(mg.Spec.ManagementPolicies, policies("Observe"))
	if !exists || stolen || l.system.Failed != nil {
		l.t.Errorf("it is Ready, but the resource is %+v (exists: %t), its failure %v", have, exists, l.system.Failed)
	}
}

// heal mends all that can be mended from outside, and checks that the Thing settles.
func (l *fuzzedLife) heal() {
	l.story = append(l.story, "healed")
	l.system.Do(func(s *thing.System) {
		s.Fault, s.Failed, s.Stubborn, s.SlowDelete = nil, nil, false, false
		maps.DeleteFunc(s.Resources, isForeign)
	})
	maps.DeleteFunc(l.elsewhere, isForeign) // where the person who swaps the systems again finds it
	if l.thing() != nil {
		l.play(annotate(meta.AnnotationKeyReconciliationPaused, ""), allow("*"))
	}
	for range 8 {
		if l.settled() || l.t.Failed() {
			return
		}
		l.play(later(2 * time.Minute))
		l.intervene()
		l.observePass()
	}
	l.t.Errorf("it does not settle: %s: %s; object %+v; resources %+v", l.state(), l.message(), l.thing(), l.system.Snapshot())
}

// intervene is what a person does about an interrupted create that cannot be recovered, and about lost data.
func (l *fuzzedLife) intervene() {
	mg := l.thing()
	if mg == nil {
		return
	}
	switch reason := xpv1.FailureOf(mg).Reason; {
	case reason == failure.ExternalSystemChanged:
		l.swapSystem()
	case reason == failure.ExternalResourceLost:
		l.play(permittedByUID)
	case reason == failure.ConnectionDetailsLost:
		l.play(annotate(connection.AnnotationKeyCreatedKeys, ""))
	case reason == failure.CreateInterrupted && l.offer.mayNeedHuman:
		l.play(wiped, annotate(meta.AnnotationKeyExternalCreatePending, ""))
	}
}

// settled is true if the Thing has what it declares, or is gone, and a further pass writes nothing.
func (l *fuzzedLife) settled() bool {
	mg := l.thing()
	if mg == nil {
		return true
	}
	want := mg.Spec.ForProvider
	l.writes = nil
	l.observePass()
	have := l.system.Snapshot()[meta.GetExternalName(mg)]
	return l.state() == ready && len(l.writes) == 0 && have.Size == want.Size && (want.Zone == nil || have.Zone == *want.Zone) &&
		len(l.system.Snapshot()) == 1
}
