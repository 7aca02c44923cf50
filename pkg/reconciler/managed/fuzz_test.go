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

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// FuzzLife plays acts that the fuzzer chooses with one Thing. It checks after each pass what must hold at any time, and at the end
// that the Thing settles once its external system is healthy. Each byte is a choice: the client, what the external system offers,
// and then acts with what they choose. A failure lists the acts.
func FuzzLife(f *testing.F) {
	env := controlplanetest.NewWithScheme(f, scheme())
	f.Fuzz(func(t *testing.T, script []byte) {
		l := &fuzzedLife{stage: stageIn(t, env), script: script[:min(len(script), 48)]}
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
	script  []byte
	story   []string
	offer   offer
	client  string
	faulted string // the verb whose call did not go well in this pass
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
	var serve act
	l.client, serve = pick(l, map[string]act{"client": func(*stage) {}, "functions": functions, "untyped": untyped})
	_, l.offer = pick(l, offers)
	l.log = &logLines{}
	l.play(password(canaryInput), serve, l.offer.given, with(managed.WithLogger(l.log.logger(10))), observed(func(mg *thing.Thing, o *observation) {
		if o.ResourceExists {
			mg.SetConditions(xpv1.Available().WithMessage(careless))
		}
	}))
	l.begin()
}

// careless is a text with the password in all spellings, not nested.
var careless = "the password is " + strings.Join(slices.Delete(spellings()[12:18], 2, 3), " or ")

const somebody = "0d9f7a1e-somebody-else"

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

// lifeActs are what users, other clients and the external system do.
var lifeActs = map[string]func(*fuzzedLife){
	"another pass":    func(l *fuzzedLife) { l.observePass() },
	"a minute later":  func(l *fuzzedLife) { l.play(later(time.Minute)) },
	"an hour later":   func(l *fuzzedLife) { l.play(later(time.Hour)) },
	"restart":         func(l *fuzzedLife) { l.play(restarted) },
	"crash":           (*fuzzedLife).crash,
	"failing call":    (*fuzzedLife).failCall,
	"mended":          func(l *fuzzedLife) { l.play(mended) },
	"lost outside":    func(l *fuzzedLife) { l.play(wiped) },
	"changed outside": func(l *fuzzedLife) { l.change(func(r *thing.Resource) { r.Size += 3 }) },
	"stolen":          func(l *fuzzedLife) { l.label(somebody) },
	"without a label": func(l *fuzzedLife) { l.label("") },
	"given back":      func(l *fuzzedLife) { l.label(l.thing().UID) },
	"replaced": func(l *fuzzedLife) {
		l.change(func(r *thing.Resource) { *r = thing.Resource{Size: 9} })
		l.label(somebody)
	},
	"size": func(l *fuzzedLife) { l.play(size(1 + l.choose(5))) },
	"settings": func(l *fuzzedLife) {
		zone, tags := l.settings()
		l.play(edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Zone, mg.Spec.ForProvider.Tags = zone, tags }))
	},
	"settings of the system": func(l *fuzzedLife) {
		zone, tags := l.settings()
		l.change(func(r *thing.Resource) { r.Zone, r.Tags = *zone, tags })
	},
	"deleted":         func(l *fuzzedLife) { l.deleteOnce() },
	"lost by Delete":  func(l *fuzzedLife) { l.deleteOnce(); l.during("Delete", func(s *stage) { clear(s.system.Resources) }) },
	"deleted by then": func(l *fuzzedLife) { l.during(l.verb(), func(*stage) { l.deleteOnce() }) },
	"edited by then":  func(l *fuzzedLife) { l.during(l.verb(), size(6)) },
	"panic": func(l *fuzzedLife) {
		verb := l.verb()
		l.during(verb, func(*stage) { panic(knownTo(verb)) })
	},
	"paused":         func(l *fuzzedLife) { l.play(annotate(meta.AnnotationKeyReconciliationPaused, "true")) },
	"resumed":        func(l *fuzzedLife) { l.play(annotate(meta.AnnotationKeyReconciliationPaused, "")) },
	"only observed":  func(l *fuzzedLife) { l.play(allow("Observe")) },
	"never updated":  func(l *fuzzedLife) { l.play(allow("Observe", "Create", "Delete")) },
	"all policies":   func(l *fuzzedLife) { l.play(allow("*")) },
	"unhealthy":      func(l *fuzzedLife) { l.play(failed(errors.New(careless))) },
	"healthy":        func(l *fuzzedLife) { l.play(failed(nil)) },
	"stubborn":       func(l *fuzzedLife) { l.play(stubborn) },
	"slow to delete": func(l *fuzzedLife) { l.play(slowDelete) },
}

func (l *fuzzedLife) settings() (zone *string, tags map[string]string) {
	name := string(rune('a' + l.choose(3)))
	return &name, map[string]string{name: name}
}

func (l *fuzzedLife) verb() string {
	verb, _ := pick(l, map[string]bool{"Connect": true, "Observe": true, "FindCreated": true, "Create": true, "Update": true, "Delete": true})
	return verb
}

// change changes the external resource that the Thing names, if there is one.
func (l *fuzzedLife) change(do func(*thing.Resource)) {
	name := meta.GetExternalName(l.thing())
	l.system.Do(func(s *thing.System) {
		if have, exists := s.Resources[name]; exists {
			do(&have)
			s.Resources[name] = have
		}
	})
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
func (l *fuzzedLife) during(verb string, do act) {
	l.play(faults(func(called string) (error, error) {
		if called == verb {
			l.system.Fault, l.faulted = nil, verb
			do(l.stage)
		}
		return nil, nil
	}))
}

// knownTo is what a call may say: Connect is given no password.
func knownTo(verb string) string {
	if verb == "Connect" {
		return "no connection"
	}
	return careless
}

// refusals prove that a call had no effect; after the others it may have had one.
var (
	refusals = map[string]error{
		"invalid":      failure.Terminal(failure.ForTeam(failure.InvalidSettings, careless, errors.New(careless))),
		"denied":       failure.With(failure.ExternalSystemRefused, errors.New(careless)),
		"quota":        failure.ForTeam(failure.QuotaExceeded, careless, errors.New(careless)),
		"throttled":    failure.Throttled(errors.New(careless), 4*time.Second),
		"busy":         failure.Throttled(errors.New(careless), 0),
		"unreachable":  failure.Unreachable(fmt.Errorf("%s: %w", careless, syscall.ECONNREFUSED)),
		"unclassified": errors.New(careless),
	}
	unknowns = map[string]error{
		"outcome unknown": failure.OutcomeUnknown(errors.New(careless)),
		"timeout":         fmt.Errorf("%s: %w", careless, context.DeadlineExceeded),
		"broken":          fmt.Errorf("%s: %w", careless, io.ErrUnexpectedEOF),
	}
)

// failCall makes calls of a verb fail, the next one or all.
func (l *fuzzedLife) failCall() {
	verb, always := l.verb(), l.choose(2) == 1
	var refuse, lose error
	switch l.choose(3) {
	case 0:
		_, refuse = pick(l, refusals)
	case 1:
		_, refuse = pick(l, unknowns)
	default:
		_, lose = pick(l, unknowns)
	}
	if verb == "Connect" {
		refuse, lose = errors.New(knownTo(verb)), nil
	}
	l.play(faults(func(called string) (error, error) {
		if called != verb {
			return nil, nil
		}
		if l.faulted = verb; !always {
			l.system.Fault = nil
		}
		return refuse, lose
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
	before, foreign := l.thing(), l.foreign()
	if before == nil {
		return
	}
	l.system.TakeCalls()
	err := l.tryPass()
	after := l.thing()
	if diff := cmp.Diff(foreign, l.foreign()); diff != "" {
		l.t.Errorf("the resource of another owner changed -want +got:\n%s", diff)
	}
	own := l.own(before)
	if len(own) > 1 {
		l.t.Errorf("one object has resources %v", own)
	}
	if after == nil && len(own) > 0 && resource.MayDeleteExternal(before) {
		l.t.Errorf("the object is gone and leaves resources %v", own)
	}
	l.checkSecrets(after, err)
	l.checkReady(after)
	l.faulted = ""
}

// foreign returns the resources that show another owner.
func (l *fuzzedLife) foreign() map[string]thing.Resource {
	all := l.system.Snapshot()
	maps.DeleteFunc(all, func(_ string, r thing.Resource) bool { return r.Owner != somebody })
	return all
}

// own returns the resources that were created for the Thing and not taken by somebody.
func (l *fuzzedLife) own(mg *thing.Thing) map[string]thing.Resource {
	all := l.system.Snapshot()
	maps.DeleteFunc(all, func(_ string, r thing.Resource) bool { return r.Token != meta.CreationToken(mg) || r.Owner == somebody })
	return all
}

// checkSecrets looks for the password in everything that users and operators read.
func (l *fuzzedLife) checkSecrets(mg *thing.Thing, err error) {
	if mg != nil {
		mg.ManagedFields = nil
	}
	object, _ := json.Marshal(mg)
	shown := fmt.Sprintf("object %s, events %+v, error %v, log %v", object, l.events.All(), err, l.log.take())
	if secret := leaked(shown); secret != "" {
		l.t.Errorf("%s shows in %s", secret, shown)
	}
}

// checkReady compares condition Ready with the external system, if the pass saw it.
func (l *fuzzedLife) checkReady(mg *thing.Thing) {
	if mg == nil || l.faulted != "" || l.system.Called("Observe") == 0 || mg.GetCondition(xpv1.TypeReady).Status != "True" {
		return
	}
	have, exists := l.system.Snapshot()[meta.GetExternalName(mg)]
	stolen := have.Owner == somebody && !slices.Equal(mg.Spec.ManagementPolicies, policies("Observe")) // to observe is not to own
	broken := l.client == "functions" && l.system.Failed != nil                                        // the others overwrite the condition
	if !exists || stolen || broken {
		l.t.Errorf("the object is Ready beside resource %+v (exists: %t), failure %v: %s %s", have, exists, l.system.Failed, l.state(), l.message())
	}
}

// heal mends all that can be mended from outside, and checks that the Thing settles.
func (l *fuzzedLife) heal() {
	l.story = append(l.story, "healed")
	l.system.Do(func(s *thing.System) {
		s.Fault, s.Failed, s.Stubborn, s.SlowDelete = nil, nil, false, false
		maps.DeleteFunc(s.Resources, func(_ string, r thing.Resource) bool { return r.Owner == somebody })
	})
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
	l.t.Errorf("it does not settle: %s: %s; object %+v; resources %+v; calls %v", l.state(), l.message(), l.thing(), l.system.Snapshot(),
		l.system.TakeCalls())
}

// intervene is what a person does about an interrupted create that cannot be recovered.
func (l *fuzzedLife) intervene() {
	mg := l.thing()
	if mg == nil || !l.offer.mayNeedHuman || xpv1.FailureOf(mg).Reason != failure.CreateInterrupted {
		return
	}
	l.play(wiped, annotate(meta.AnnotationKeyExternalCreatePending, ""))
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
