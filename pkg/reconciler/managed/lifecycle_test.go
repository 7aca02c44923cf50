// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

const (
	creates = "Connect Observe Create Observe"
	updates = "Connect Observe Update Observe"
	deletes = "Connect Observe Delete Observe"
)

// The life of one object, whatever its client: what is called outside, what the user sees, what is written.
func TestLife(t *testing.T) {
	live(t, map[string]act{"client": func(*stage) {}, "functions": functions, "without a Go type": untyped}, life)
}

func life() []moment {
	var atCreate *thing.Thing // as stored when Create was called
	return []moment{
		{"a missing resource is created and observed in the same pass (R18, R21, R22, R23, R44, R49, R63, R181, R201)", []act{
			during("Create", func(s *stage) { atCreate = s.thing() }), pass, mended,
			called(creates), sees(ready), emitted(managed.ReasonCreated)}},
		{"what is stored when Create is called (R51, R52, R62, R63, R72, R73, R75, R76, R77)", []act{func(s *stage) {
			s.equalAnnotations(map[string]string{"crossplane.io/external-name": "NAME",
				"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z"}, atCreate)
			s.equal("finalizers", []string{"finalizer.managedresource.crossplane.io"}, atCreate.Finalizers)
		}}},
		{"what is stored afterwards (R75, R79, R87)", []act{annotations(map[string]string{"crossplane.io/external-name": "NAME",
			"crossplane.io/external-create-pending": pending, "crossplane.io/external-create-succeeded": pending,
			connection.AnnotationKeyCreatedKeys: "endpoint,password"})}},
		{"what is written: the details first, the status last and once (R180, R184, R199, N14, R200, R217)", []act{func(s *stage) {
			object := "PATCH /apis/test.bowline.dev/v1/things/" + s.key.Name
			secrets := "POST /api/v1/namespaces/" + s.secret.Namespace + "/secrets"
			s.equal("writes", []string{object, secrets, object, object + "/status"}, s.writes)
			for _, of := range []xpv1.ConditionType{xpv1.TypeReady, xpv1.TypeSynced} {
				if c := s.thing().GetCondition(of); c.Status != "True" {
					s.t.Errorf("condition %+v", c)
				}
			}
		}}},
		{"what is as declared is only observed (R1, R18, R25, R220, N13)", []act{nothingNew}},
		{"a change of whatever setting is an update and nothing else (R24, R45, R176)", []act{edit(func(mg *thing.Thing) {
			mg.Spec.ForProvider = thing.Parameters{Size: 9, Zone: new("zone-b"), Tags: map[string]string{"a": "b"},
				AccessToken: new("secret")}
		}), pass, called(updates), sees(ready), emitted(managed.ReasonUpdated)}},
		{"a change made outside is reverted (R40)", []act{resize(99), pass, called(updates), sees(ready), emitted(managed.ReasonUpdated),
			sized(9)}},
		{"a status that is lost is reproduced (R30, R41, R43)", []act{statusLost}},
		{"a resource deleted outside is created anew, without grace once it was seen (R90)", []act{
			wiped, forget, pass, called(creates), sees(ready), emitted(managed.ReasonCreated)}},
		{"deletion begins outside while the object stays, and nothing is updated (R53, R61, R182)", []act{
			slowDelete, resize(100), deleted, pass,
			called(deletes), sees("Ready=Deleting Synced=ReconcileSuccess"), emitted(managed.ReasonDeleted)}},
		{"while the vendor is deleting it is asked again, without another event (R55)", []act{
			pass, called(deletes), sees("Ready=Deleting Synced=ReconcileSuccess"), emitted()}},
		{"the object goes once the resource is gone, without grace (R54, N20)",
			[]act{wiped, pass, called("Connect Observe"), sees(gone), emitted()}},
	}
}

func statusLost(s *stage) {
	before := s.thing().Status
	s.editStatus(s.key, func(mg *thing.Thing) { mg.Status = thing.Status{} })
	s.play(forget, restarted, pass, called("Connect Observe"))
	diff := cmp.Diff(before, s.thing().Status, cmpopts.IgnoreTypes(metav1.Time{}),
		cmpopts.SortSlices(func(a, b xpv1.Condition) bool { return a.Type < b.Type }))
	if diff != "" {
		s.t.Errorf("status -before +after:\n%s", diff)
	}
}

func TestDeletion(t *testing.T) {
	goes := func(calls string, acts ...act) []act {
		return append(append([]act{finalizer}, acts...), forget, deleted, pass, called(calls), sees(gone))
	}
	play(t, scripts{
		"it never existed (R59, R61)":                     goes("Connect Observe"),
		"its creation failed (R59, R61)":                  goes("Connect Observe", refuse("Create", errors.New("no room left")), pass),
		"creation was turned away (R59, R95)":             goes("Connect Observe", refuse("Create", busy{}), pass),
		"it was removed outside (R54, R61)":               goes("Connect Observe", pass, wiped),
		"it goes while we ask (R38, R54)":                 goes(deletes, pass, during("Delete", func(s *stage) { clear(s.system.Resources) })),
		"in one pass, within the grace period (N20, R54)": goes(deletes, pass),
		"a failed resource (R31)": goes(deletes,
			failed(errors.New("no room left, buy a disk")), pass,
			reports("no room left, buy a disk"), emitted(managed.ReasonCreated, managed.ReasonExternalFailed),
			publishes(map[string]string{"endpoint": "there", "password": "password-1"})),
		"an orphan stays (R57)": {edit(func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan }),
			pass, deleted, forget, pass, called(""), sees(gone), resources(1)},
		// Each poll sees the resource as available first.
		"while the vendor deletes, polls write nothing and come more seldom (N13, R195)": {pass,
			slowDelete, deleted, now, pass, forget,
			later(20 * time.Second), pass, requeued(5*time.Second, time.Minute), wrote(0)},
	})
}

// Every verb that fails shows on the object, keeps the rest of its status, calls nothing further and is retried.
func TestErrors(t *testing.T) {
	failing := func(verb string, calls string, reason event.Reason, ready xpv1.ConditionReason, size int, message string,
		given ...act) []act {
		var first time.Duration
		return append(given, forget, refuseAll(verb, errors.New("boom")), pass, called(calls),
			object("the failure", func(mg *thing.Thing) bool {
				synced, cause := mg.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(mg)
				return synced.Status == "False" && synced.Reason == xpv1.ReasonReconcileError && synced.Message == message+": boom" &&
					mg.GetCondition(xpv1.TypeReady).Reason == ready && mg.Status.AtProvider.Size == size &&
					cause.Reason != "" && cause.Message == "" && !cause.Stalled
			}),
			holds("the status is written once", func(s *stage) bool { return s.wroteStatus() == 1 }),
			func(s *stage) { first, s.writes = s.requeue, nil },
			later(time.Minute), pass, emitted(reason),
			holds("delays grow", func(s *stage) bool { return 0 < first && first < s.requeue }),
			holds("it is written once", func(s *stage) bool { return verb == "Create" || len(s.writes) == 0 }),
			mended, pass, holds("recovered", func(s *stage) bool { return s.state() == gone || s.state() == healthy(s) }))
	}
	play(t, scripts{
		"Connect (R27, R185, N44)": failing("Connect", "Connect", managed.ReasonCannotConnect, xpv1.ReasonCannotObserve, 1,
			"connecting to the provider", pass),
		"Connect of a new object (R27)": failing("Connect", "Connect", managed.ReasonCannotConnect, "", 0,
			"connecting to the provider"),
		"Observe (R26, R185, R196, R199, N13, N44)": failing("Observe", "Connect Observe", managed.ReasonCannotObserve,
			xpv1.ReasonCannotObserve, 1,
			"observing the external resource", pass),
		"Observe of a new object (R26)": failing("Observe", "Connect Observe", managed.ReasonCannotObserve, "", 0,
			"observing the external resource"),
		"Create (R33, R95, R181, R185, R196)": failing("Create", "Connect Observe Create", managed.ReasonCannotCreate,
			xpv1.ReasonCreating, 0,
			"creating the external resource"),
		"Update, with the latest status (R27, R178, R185, R196, R200, N44)": failing("Update", "Connect Observe Update",
			managed.ReasonCannotUpdate, xpv1.ReasonAvailable, 7, "updating the external resource", pass, resize(7)),
		"Delete (R37, R60, R182, R185)": failing("Delete", "Connect Observe Delete", managed.ReasonCannotDelete, xpv1.ReasonDeleting, 1,
			"deleting the external resource", pass, deleted),
	})
}

// healthy returns the state ready, if there is no failure.
func healthy(s *stage) string {
	if xpv1.FailureOf(s.thing()).Reason != "" {
		return "a failure"
	}
	return ready
}

// Ready is not True beside a failure to observe, and as before once the external resource is observed again.
func TestUnobserved(t *testing.T) {
	const unobserved, reported = "Ready=CannotObserve Synced=ReconcileError", "Ready=ExternalResourceFailed Synced=ReconcileSuccess"
	away := refuse("Observe", failure.Unreachable(errors.New("no route")))
	unknown := object("Ready is Unknown with the cause", func(mg *thing.Thing) bool {
		c := mg.GetCondition(xpv1.TypeReady)
		return c.Status == "Unknown" && strings.Contains(c.Message, "("+string(failure.ExternalSystemUnreachable)+")") && c.ObservedGeneration == mg.Generation
	})
	unchanged := observed(func(mg *thing.Thing, _ *observation) {
		mg.SetConditions(xpv1.CannotObserve(failure.ExternalSystemUnreachable))
	})
	play(t, scripts{
		"the cause is typed, and recovery needs one pass (N44)": {pass, forget, away, pass, sees(unobserved), unknown,
			emitted(managed.ReasonCannotObserve), forget, away, later(time.Minute), pass, wrote(0), pass, sees(ready)},
		"an observation that leaves Ready as it was (R31, N44)": {pass, away, pass, unchanged, pass, sees(ready)},
		"one that finds it unusable (N44)": {pass, away, pass, observed(func(mg *thing.Thing, _ *observation) {
			mg.SetConditions(xpv1.Unavailable())
		}), pass, sees("Ready=Unavailable Synced=ReconcileSuccess")},
		"one that its client finds usable, and that has failed (N74)": {pass, failed(errors.New("disk lost")), pass, sees(brokenDown), forget, pass,
			wrote(0), restarted, pass, wrote(0), failed(nil), system(func(s *thing.System) { s.Silent = true }), pass, sees(ready)},
		"one that its client reports as failed (N74)": {pass, observed(func(mg *thing.Thing, _ *observation) {
			mg.SetConditions(xpv1.Waiting(failure.ExternalResourceFailed, "disk lost").WithObservedGeneration(mg.Generation))
		}), pass, sees(reported), pass, sees(reported), forget, restarted, pass, sees(reported), wrote(0), observed(nil), pass, sees(ready)},
		"one that has failed, and cannot be updated (N74)": {pass, failed(errors.New("disk lost")), resize(7),
			refuse("Update", errors.New("not now")), try, sees(brokenDown), failed(nil), pass, sees(ready)},
		"one that lacks a setting which cannot be applied (N74)": {pass, failed(failure.New(failure.InvalidSettings, "fixed")), pass, sees(notSynced)},
		"one that was never usable (N44)":                        {away, pass, sees(refusedNew), pass, sees(ready)},
		"a circuit that is open, of a new object (N44)":          {refuse("Observe", failure.Unreachable(busy{})), pass, sees(refusedNew)},
		"a circuit that is open, of a deleted object (N44)": {pass, deleted, refuse("Observe", failure.Unreachable(busy{})), pass,
			sees("Ready=Deleting Synced=ReconcileError")},
		"a circuit that is open for three seconds (O29, N44)": {pass, refuse("Observe", failure.Unreachable(busy{})), pass, sees(ready),
			later(2 * time.Second), refuse("Observe", failure.Unreachable(busy{})), pass, sees(ready),
			later(time.Second), refuse("Observe", failure.Unreachable(busy{})), pass, sees(unobserved), unknown},
		"calls that are throttled for ten polls and ten minutes (N44)": {pass, refuseAll("Observe", busy{}), pass, sees(ready),
			later(9 * time.Minute), pass, sees("Ready=Available Synced=ReconcileError"), later(time.Hour), pass, sees(unobserved)},
		"a failed update in the background follows an observation (R197, N44)": {inBackground, until("created", func(s *stage) bool {
			return s.state() == ready
		}), refuseAll("Update", errors.New("boom")), size(7), until("failed", func(s *stage) bool { return s.state() == notSynced })},
		"gone before it is observed again, after a restart (N38, N44)": {holdsData, pass, away, pass, restarted, later(time.Minute), wiped, pass, sees(lost), calls("Create", 1)},
		"deleted (R182, N44)": {pass, away, pass, deleted, away, pass, sees("Ready=Deleting Synced=ReconcileError")},
	})
}

// wroteStatus returns how often the status was written.
func (s *stage) wroteStatus() int {
	return strings.Count(strings.Join(s.writes, "\n"), "/status")
}

// No call outlives the pass.
func TestTimeout(t *testing.T) {
	hangs := func(verb string, reason event.Reason, given act) []act {
		return []act{with(managed.WithTimeout(300 * time.Millisecond)), pass, given, forget,
			system(func(sys *thing.System) {
				sys.Latency = func(called string) time.Duration { return map[string]time.Duration{verb: time.Hour}[called] }
			}),
			func(s *stage) {
				if began := time.Now(); s.pass() < 0 || time.Since(began) > 10*time.Second {
					s.t.Errorf("the pass took %s", time.Since(began))
				}
			}, reports(context.DeadlineExceeded.Error()), emitted(reason)}
	}
	play(t, scripts{
		"Connect that hangs (R47, R49)": hangs("Connect", managed.ReasonCannotConnect, forget),
		"Observe that hangs (R47, R49)": hangs("Observe", managed.ReasonCannotObserve, forget),
		"Update that hangs (R47, R49)":  hangs("Update", managed.ReasonCannotUpdate, size(2)),
		"Delete that hangs (R47, R49)":  hangs("Delete", managed.ReasonCannotDelete, deleted),
	})
}

// A slow external system is served like any other. By default, a third of the deadline is 20 seconds.
func TestSlowSystem(t *testing.T) {
	const deadline = 900 * time.Millisecond
	slow := func(change time.Duration) act {
		return then(with(managed.WithTimeout(deadline)), system(func(sys *thing.System) {
			sys.Latency = func(verb string) time.Duration {
				if verb == "Create" || verb == "Update" || verb == "Delete" {
					return change
				}
				return deadline / 3
			}
		}))
	}
	ends := func(state string, size int) act {
		return until(state, func(s *stage) bool {
			s.clock = s.clock.Add(time.Minute) // a loaded machine may need several passes
			return s.state() == state && s.has().Size == size
		})
	}
	life := then(func(s *stage) { s.begin() }, ends(ready, 1), size(2), ends(ready, 2), resources(1), deleted, ends(gone, 0))
	playBoth(t, scripts{
		"chosen names (R47, N70)": {slow(deadline / 3), life},
		"tokens (R47, N70)":       {replays, slow(deadline / 3), life},
		"calls in the background outlast a deadline (R197, N70)": {inBackground, slow(2 * deadline), life},
	})
}

// What else brings an object back, or does not.
func TestRequests(t *testing.T) {
	request := func(s *stage) { s.must(s.request(s.key)) } // not woken
	play(t, scripts{
		"a request for an object that is gone ends quietly (R16)": {func(s *stage) { s.begin(); strike(s.env, s.thing()) }, pass,
			requeued(0, 0), called("")},
		"an etcd that is away is no fault of what the provider reports (R199)": {statusFails(1, &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusInternalServerError, Reason: metav1.StatusReasonUnknown, Message: "rpc error: code = Unavailable desc = EOF",
		}}), func(s *stage) {
			if s.tryPass() == nil {
				s.t.Error("the pass is not tried again at once")
			}
		}, pass, sees(ready), emitted(managed.ReasonCreated)},
		"a status that could not be written is no success (R17, R199)": {statusAway, func(s *stage) {
			if s.tryPass() == nil {
				s.t.Error("the pass should be repeated")
			}
		}},
		"another client's write is read afresh (R17)": {pass, resize(2), during("Update", size(5)), pass, mended,
			request, sized(5), object("size 5 in status", func(mg *thing.Thing) bool { return mg.Status.AtProvider.Size == 5 })},
		"our own write brings nothing new (R1, N13)": {pass, forget, request, called(""), requeued(time.Second, time.Hour)},
		"nothing is created from an outdated object (R78)": {during("Observe", size(5)), pass, calls("Create", 0), mended, pass,
			sized(5)},
		"a process that stops in the middle of a call reports nothing (R16)": {pass, forget, func(s *stage) {
			ctx, cancel := context.WithCancel(s.t.Context())
			s.system.Fault = func(string) (error, error) {
				cancel()
				return ctx.Err(), nil
			}
			req := reconcile.Request{NamespacedName: s.key}
			s.reconciler.Wake(req)
			_, err := s.reconciler.Reconcile(ctx, req)
			s.must(err)
		}, sees(ready), emitted()},
		"a removed name is shown again (R63, R72)": {pass, annotate(meta.AnnotationKeyExternalName, ""), pass,
			func(s *stage) { s.play(named(s.key.Name)) }},
		"conditions of the author are stored and stay (R30, R32, R193)": {observed(func(mg *thing.Thing, _ *observation) {
			warm := xpv1.Unavailable()
			warm.Reason = "WarmingUp"
			mg.SetConditions(warm, xpv1.Condition{Type: "Backup", Status: "True", Reason: "Done",
				LastTransitionTime: warm.LastTransitionTime})
		}), pass, refuse("Observe", errors.New("boom")), pass, sees("Ready=WarmingUp Synced=ReconcileError"),
			object("condition Backup", func(mg *thing.Thing) bool { return mg.GetCondition("Backup").Reason == "Done" })},
	})
}

// statusAway makes the API server refuse to write the status.
func statusAway(s *stage) { s.play(statusFails(-1, errors.New("the API server is away"))) }

// statusFails makes the API server answer the next writes of the status with an error, all if times is negative.
func statusFails(times int, err error) act {
	return func(s *stage) {
		s.fault = func(request string) (refuse, lose error) {
			if strings.HasSuffix(request, "/status") && times != 0 {
				times--
				return err, nil
			}
			return nil, nil
		}
	}
}

// What is known only after Create is kept whatever fails then.
func TestAfterCreate(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "thing", errors.New("another client wrote"))
	away, no := apierrors.NewServiceUnavailable("starting"), errors.New("no")
	failing := func(request string, times int, err error) []act {
		return []act{vendorNames, func(s *stage) {
			s.fault = func(sent string) (error, error) {
				if s.system.Called("Create") == 0 || times == 0 || !strings.HasPrefix(sent, request) && !strings.HasSuffix(sent, request) {
					return nil, nil
				}
				times--
				return err, nil
			}
		}, try, named("vendor-1"), complete, func(s *stage) { s.fault = nil }, try, resources(1),
			publishes(details("there", "password-1"))}
	}
	play(t, scripts{
		"the details cannot be stored (R74)":              failing("POST", 100, no),
		"the status cannot be written (R74, R217)":        failing("/status", 100, no),
		"the success meets a conflict (R74, R79, R93)":    failing("PATCH", 2, conflict),
		"the API server is away a moment (R74, R79, R93)": failing("PATCH", 3, away),
		"the details meet a moment's outage (R93, R217)":  failing("POST", 3, away),
	})
}

// When an error is tried again, and whether the user sees it.
func TestRepetition(t *testing.T) {
	broken := errors.New("out of order")
	at := func(err error, since, least, most time.Duration, shows bool) act {
		return func(s *stage) {
			begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			s.clock = begin.Add(since)
			s.play(forget, refuse("Observe", fmt.Errorf("calling: %w", err)), pass, requeued(least, most),
				holds(fmt.Sprintf("the error shows: %t", shows), func(s *stage) bool {
					return shows == (strings.Contains(s.message(), "out of order") || strings.Contains(s.message(), "too many calls"))
				}),
				holds("what does not show is not written", func(s *stage) bool { return shows || len(s.writes) == 0 }))
		}
	}
	repeated := func(acts ...act) []act {
		return slices.Concat([]act{pass}, acts, []act{func(s *stage) {
			if s.message() != "" && !strings.Contains(s.message(), "too many calls") {
				s.play(sees("Ready=CannotObserve Synced=ReconcileError"))
			} else if !strings.HasPrefix(s.state(), "Ready=Available") {
				s.t.Errorf("the user sees %s (N44)", s.state())
			}
		}, pass, sees(ready), holds("no message", func(s *stage) bool { return s.message() == "" })})
	}
	const poll, second = time.Minute, time.Second
	terminal, marked := failure.Terminal(broken), reconcile.TerminalError(broken)
	play(t, scripts{
		"an error: later each time (R222, R196, R200)": repeated(at(broken, 0, 0, second, true),
			at(broken, second, second, 2*second, true)),
		"one that cannot heal: at the poll (R222, O29)": repeated(
			at(terminal, 0, 54*second, 66*second, true), at(terminal, poll, 54*second, 66*second, true)),
		"marked as controller-runtime does (R222, O29)": repeated(at(marked, 0, 54*second, 66*second, true)),
		"too many calls: when asked, quietly for ten seconds (O29)": repeated(size(2), at(busy{}, 0, 4*second, 6*second, false),
			at(busy{}, 9*second, 4*second, 6*second, false), at(busy{}, 10*second, 4*second, 6*second, true)),
		"too many calls and nothing to do: quietly until the next poll (O29)": repeated(at(busy{}, 0, 4*second, 6*second, false),
			at(busy{}, 59*second, 4*second, 6*second, false), at(busy{}, poll, 4*second, 6*second, true)),
		// Patience ends with the first answer.
		"being busy now and then is no news (O29)": {pass, forget, refuse("Observe", busy{}), pass, later(6 * second), pass,
			refuse("Observe", busy{}), pass, later(6 * second), pass, refuse("Observe", busy{}), pass, emitted()},
	})
}

// busy is the error of a system that asks for four seconds of peace.
type busy struct{}

func (busy) Error() string { return "too many calls" }

func (busy) RetryAfter() time.Duration { return 4 * time.Second }

// How often a settled object is polled: as the object asks, else its client, else the reconciler.
func TestPollInterval(t *testing.T) {
	every := func(want time.Duration, annotation string, client time.Duration) []act {
		return []act{annotate(meta.AnnotationKeyPollInterval, annotation), system(func(sys *thing.System) { sys.Poll = client }),
			pass, requeued(want-want/10, want+want/10), pass, requeued(want-want/10, want+want/10)}
	}
	play(t, scripts{
		"a minute by default (R224)":            every(time.Minute, "", 0),
		"an option (R224, R48)":                 append([]act{with(managed.WithPollInterval(time.Hour))}, every(time.Hour, "", 0)...),
		"the object asks":                       every(10*time.Minute, "10m", 0),
		"the object asks for too much":          every(time.Minute, "10ms", 0),
		"the object asks for nonsense":          every(time.Minute, "often", 0),
		"the client chooses":                    every(5*time.Minute, "", 5*time.Minute),
		"the client does not choose":            every(time.Minute, "", -time.Minute),
		"the object wins over the client":       every(10*time.Minute, "10m", 5*time.Minute),
		"nonsense does not win over the client": every(5*time.Minute, "often", 5*time.Minute),
	})
}
