// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// An act is something that happens on stage, or something that must hold there.
type act = func(*stage)

// scripts are tests by their names: what happens to one Thing, in order.
type scripts map[string][]act

// play runs each script on a stage of its own.
func play(t *testing.T, all scripts) {
	t.Helper()
	t.Parallel()
	env := controlplanetest.NewWithScheme(t, scheme())
	for name, acts := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stageIn(t, env).play(acts...)
		})
	}
}

// play runs acts up to the first that fails.
func (s *stage) play(acts ...act) {
	s.t.Helper()
	for i, a := range acts {
		if a(s); s.t.Failed() {
			s.t.Fatalf("at act %d of %d", i+1, len(acts))
		}
	}
}

// then joins acts to one.
func then(acts ...act) act {
	return func(s *stage) { s.play(acts...) }
}

// clients are those of a kind with a Go type.
var clients = map[string]act{"client": func(*stage) {}, "functions": functions}

// functions has the external system served by four functions of package kind.
func functions(s *stage) {
	s.play(with(managed.WithExternalConnecter(thing.Functions{System: s.system})))
}

// playBoth is play for each of the clients.
func playBoth(t *testing.T, all scripts) {
	t.Helper()
	both := scripts{}
	for client, by := range clients {
		for name, acts := range all {
			both[client+"/"+name] = append([]act{by}, acts...)
		}
	}
	play(t, both)
}

// A moment is a part of a life with a name of its own.
type moment struct {
	name string
	acts []act
}

// live runs the moments of one Thing in order, up to the first that fails, for each of some clients.
func live(t *testing.T, by map[string]act, life func() []moment) {
	t.Helper()
	t.Parallel()
	for client, serve := range by {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			serve(s)
			for _, m := range life() {
				if !t.Run(m.name, func(t *testing.T) { s.t = t; s.play(m.acts...) }) {
					return
				}
				s.t = t
			}
		})
	}
}

const (
	ready     = "Ready=Available Synced=ReconcileSuccess"
	notSynced = "Ready=Available Synced=ReconcileError"
	// lostDetails is of an object whose connection Secret lacks what only the answer of the create had.
	lostDetails = "Ready=ConnectionDetailsLost Synced=ReconcileError"

	// brokenDown is of an object whose external resource has failed, as the external system reports, although the client sets Ready.
	brokenDown = "Ready=ExternalResourceFailed Synced=ReconcileError"

	refusedNew = "Ready= Synced=ReconcileError"
	gone       = "gone"
)

func pass(s *stage) { s.t.Helper(); s.pass() }

func passes(n int) act {
	return func(s *stage) {
		for range n {
			s.pass()
		}
	}
}

// try is a pass that may end with an error.
func try(s *stage) { _ = s.tryPass() }

// until passes until a state is reached.
func until(what string, reached func(*stage) bool) act {
	return func(s *stage) {
		s.t.Helper()
		s.env.Eventually(s.t, what, func(context.Context) error {
			if err := s.tryPass(); err != nil {
				return err
			}
			if !reached(s) {
				return fmt.Errorf("the user sees %s %s: %s", s.state(), s.operation(), s.message())
			}
			return nil
		})
	}
}

func later(d time.Duration) act { return func(s *stage) { s.clock = s.clock.Add(d) } }

func edit(change func(*thing.Thing)) act { return func(s *stage) { s.t.Helper(); s.edit(change) } }

func size(n int) act { return edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = n }) }

func allow(actions ...xpv1.ManagementAction) act {
	return edit(func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies(actions...) })
}

// policies returns a list that is present, even if it is empty.
func policies(actions ...xpv1.ManagementAction) xpv1.ManagementPolicies {
	return append(xpv1.ManagementPolicies{}, actions...)
}

// annotate sets an annotation, or removes it if value is empty. NAME is the name of the object.
func annotate(key, value string) act {
	return edit(func(mg *thing.Thing) {
		if delete(mg.Annotations, key); value != "" {
			metav1.SetMetaDataAnnotation(&mg.ObjectMeta, key, strings.ReplaceAll(value, "NAME", mg.Name))
		}
	})
}

func finalizer(s *stage) {
	s.edit(func(mg *thing.Thing) { mg.Finalizers = []string{managed.Finalizer} })
}

func deleted(s *stage) { s.t.Helper(); s.delete() }

// restarted replaces the reconciler by one that remembers nothing.
func restarted(s *stage) { s.reconciler = nil }

func with(o ...managed.ReconcilerOption) act {
	return func(s *stage) { s.options, s.reconciler = append(s.options, o...), nil }
}

// system changes the external system.
func system(change func(*thing.System)) act { return func(s *stage) { s.system.Do(change) } }

func vendorNames(s *stage) {
	s.play(with(managed.WithVendorNames()), system(func(sys *thing.System) { sys.VendorNames = true }))
}

// findable is vendorNames with clients that find what an interrupted create left behind.
func findable(s *stage) { s.play(vendorNames, system(func(sys *thing.System) { sys.Finds = true })) }

func inBackground(s *stage) { s.play(with(managed.WithBackgroundOperations(time.Minute))) }

func replays(s *stage)  { s.play(system(func(sys *thing.System) { sys.Replays = true })) }
func stubborn(s *stage) { s.play(system(func(sys *thing.System) { sys.Stubborn = true })) }
func hidden(s *stage)   { s.play(system(func(sys *thing.System) { sys.Hidden = true })) }
func shown(s *stage)    { s.play(system(func(sys *thing.System) { sys.Hidden = false })) }

// failed is a failure that the external system reports of its resources.
func failed(err error) act { return system(func(sys *thing.System) { sys.Failed = err }) }

func chooses(s *stage)    { s.play(system(func(sys *thing.System) { sys.Chooses = true })) }
func unlabelled(s *stage) { s.play(system(func(sys *thing.System) { sys.Unlabelled = true })) }
func slowDelete(s *stage) { s.play(system(func(sys *thing.System) { sys.SlowDelete = true })) }
func cooperates(s *stage) { s.play(system(func(sys *thing.System) { sys.Stubborn = false })) }

type observation = managed.ExternalObservation

// now sets the clock to the time of the process, as conditions have it.
func now(s *stage) { s.clock = time.Now() }

// observed changes what Observe returns.
func observed(change func(*thing.Thing, *managed.ExternalObservation)) act {
	return system(func(sys *thing.System) { sys.Observed = change })
}

// wiped loses all external resources.
func wiped(s *stage) { s.play(system(func(sys *thing.System) { clear(sys.Resources) })) }

// alter changes the resource outside.
func alter(change func(*thing.Resource)) act {
	return func(s *stage) {
		s.system.Do(func(sys *thing.System) {
			have := sys.Resources[s.key.Name]
			change(&have)
			sys.Resources[s.key.Name] = have
		})
	}
}

func resize(to int) act { return alter(func(r *thing.Resource) { r.Size = to }) }

// give puts a resource of this object's into the system, under the object's name.
func give(r thing.Resource) act {
	return func(s *stage) {
		r.Owner = s.thing().UID
		s.play(alter(func(have *thing.Resource) { *have = r }))
	}
}

// fail makes the next call of a verb fail, before or after its work.
func fail(verb string, refuse, lose error) act {
	return func(s *stage) {
		s.play(faults(func(called string) (error, error) {
			if called != verb {
				return nil, nil
			}
			s.system.Fault = nil
			return refuse, lose
		}))
	}
}

func refuse(verb string, err error) act { return fail(verb, err, nil) }
func lose(verb string, err error) act   { return fail(verb, nil, err) }

// refuseAll makes all calls of a verb fail.
func refuseAll(verb string, err error) act {
	return faults(func(called string) (error, error) {
		if called == verb {
			return err, nil
		}
		return nil, nil
	})
}

// during calls do at each call of a verb.
func during(verb string, do act) act {
	return func(s *stage) {
		s.play(faults(func(called string) (error, error) {
			if called == verb {
				do(s)
			}
			return nil, nil
		}))
	}
}

func faults(fault func(verb string) (refuse, lose error)) act {
	return system(func(sys *thing.System) { sys.Fault = fault })
}

func mended(s *stage) { s.play(faults(nil)) }

// holds checks what no other check does.
func holds(what string, ok func(*stage) bool) act {
	return func(s *stage) {
		s.t.Helper()
		if !ok(s) {
			s.t.Errorf("it should hold: %s; the user sees %s: %s; requeued after %s; object %+v; resources %+v; Secret %v; calls %v",
				what, s.state(), s.message(), s.requeue, s.thing(), s.system.Snapshot(), s.connection(), s.system.TakeCalls())
		}
	}
}

// object checks the stored Thing.
func object(what string, ok func(*thing.Thing) bool) act {
	return holds(what, func(s *stage) bool { return ok(s.thing()) })
}

func (s *stage) equal(what string, want, got any) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s -want +got:\n%s", what, diff)
	}
}

func sees(state string) act {
	return func(s *stage) {
		s.t.Helper()
		if got := s.state(); got != state {
			s.t.Errorf("the user sees %s, want %s: %s", got, state, s.message())
		}
	}
}

// reports checks that the message of condition Synced contains texts.
func reports(parts ...string) act {
	return func(s *stage) {
		s.t.Helper()
		got := s.message()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				s.t.Errorf("the message of condition Synced is %q, want %q in it", got, part)
			}
		}
	}
}

// called checks the calls since the last check of all calls, joined by spaces.
func called(verbs string) act {
	return func(s *stage) { s.t.Helper(); s.equal("calls", verbs, strings.Join(s.system.TakeCalls(), " ")) }
}

// calls checks how often a verb was called since the last check of all calls.
func calls(verb string, n int) act {
	return holds(fmt.Sprintf("%d calls of %s", n, verb), func(s *stage) bool { return s.system.Called(verb) == n })
}

// emitted checks the events since the last check of them.
func emitted(reasons ...event.Reason) act {
	return func(s *stage) { s.t.Helper(); s.equal("events", reasons, s.events.Take()) }
}

// wrote checks how often the reconciler wrote to the API server since the last check.
func wrote(n int) act {
	return func(s *stage) {
		s.t.Helper()
		if len(s.writes) != n {
			s.t.Errorf("wrote %v, want %d writes", s.writes, n)
		}
		s.writes = nil
	}
}

// forget ends what calls, emitted and wrote look at.
func forget(s *stage) {
	s.writes = nil
	s.events.Take()
	s.system.TakeCalls()
}

// nothingNew is a pass that calls Observe and does nothing else.
func nothingNew(s *stage) { s.play(forget, pass, called("Connect Observe"), emitted(), wrote(0)) }

// requeued checks after what time the last pass asked for the next one.
func requeued(least, most time.Duration) act {
	return func(s *stage) {
		s.t.Helper()
		if s.requeue < least || s.requeue > most {
			s.t.Errorf("requeued after %s, want %s to %s", s.requeue, least, most)
		}
	}
}

// polled is requeued at the default poll.
func polled(s *stage) { s.play(requeued(54*time.Second, 66*time.Second)) }

// publishes checks the connection Secret.
func publishes(want map[string]string) act {
	return func(s *stage) { s.t.Helper(); s.equal("connection Secret", want, s.connection()) }
}

// resources checks how many external resources there are.
func resources(n int) act {
	return holds(fmt.Sprintf("%d resources", n), func(s *stage) bool { return len(s.system.Snapshot()) == n })
}

// sized checks the size of the resource.
func sized(n int) act {
	return holds(fmt.Sprintf("the resource has size %d", n), func(s *stage) bool { return s.has().Size == n })
}

func named(name string) act {
	return object("external name "+name, func(mg *thing.Thing) bool { return meta.GetExternalName(mg) == name })
}

// sent compares what Create or Update was called with.
func sent(verb string, want ...thing.Parameters) act {
	return func(s *stage) { s.t.Helper(); s.equal("what "+verb+" was sent", want, s.system.Sent[verb]) }
}

// annotations checks all annotations of the object.
func annotations(want map[string]string) act {
	return func(s *stage) {
		s.t.Helper()
		s.equalAnnotations(want, s.thing())
	}
}

// equalAnnotations compares all annotations. That of the connection Secret may be there, if it is right.
func (s *stage) equalAnnotations(want map[string]string, mg *thing.Thing) {
	s.t.Helper()
	want = maps.Clone(want)
	for key, value := range want {
		want[key] = strings.ReplaceAll(value, "NAME", s.key.Name)
	}
	if ref := mg.Spec.WriteConnectionSecretToReference; mg.Annotations[connection.AnnotationKeySecret] != "" {
		want[connection.AnnotationKeySecret] = ref.Namespace + "/" + ref.Name
	}
	s.equal("annotations", want, mg.Annotations)
}
