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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const deleting = "Ready=Deleting Synced=ReconcileSuccess"

// finalizers adds finalizers to the object.
func finalizers(more ...string) act {
	return edit(func(mg *thing.Thing) { mg.Finalizers = append(mg.Finalizers, more...) })
}

// lastFinalizer removes all finalizers but ours.
var lastFinalizer = edit(func(mg *thing.Thing) { mg.Finalizers = []string{managed.Finalizer} })

// changed is the pass that an event of the object starts.
func changed(s *stage) { s.t.Helper(); s.must(s.request(s.key)) }

// fails checks the reason of the current failure.
func fails(reason failure.Reason) act {
	return object("failure "+string(reason), func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == reason })
}

// cascades deletes the object as kubectl does with --cascade.
func cascades(how metav1.DeletionPropagation) act {
	return func(s *stage) {
		s.t.Helper()
		s.must(s.env.Client.Delete(s.t.Context(), s.thing(), client.PropagationPolicy(how)))
	}
}

func TestOtherFinalizers(t *testing.T) {
	const one, two = "example.org/hold", "example.org/backup"
	waits := then(called(""), emitted(), sees(deleting), fails(failure.WaitingForFinalizers), reports(one, two), polled)
	exists := then(pass, finalizers(one, two), forget)
	collected := until("the garbage collector is done", func(s *stage) bool { return s.state() == gone })
	play(t, scripts{
		"they delay deletion, and the last removal resumes it (N37, R53)": {exists, deleted, changed, waits, wrote(1), pass, waits,
			wrote(0), lastFinalizer, changed, sees(gone), resources(0), emitted(managed.ReasonDeleted)},
		"a restart changes nothing (N37)": {exists, deleted, pass, waits, restarted, wrote(1), pass, waits, wrote(0), lastFinalizer,
			pass, sees(gone)},
		"a system that is away is unknown (N37)": {exists, deleted, refuseAll("Connect", errors.New("no credentials")), pass, waits},
		"what was asked for in the background is recorded, then deletion waits (N37, R197)": {inBackground, vendorNames,
			held("Create", pass, finalizers(one, two), deleted, pass), untilOperation("Finished Success"), named("vendor-1"), resources(1),
			forget, pass, waits, lastFinalizer, untilOperation(gone), resources(0)},
		"a creation that was recorded in the Secret only is recorded (N37, N22)": {vendorNames, func(s *stage) {
			s.fault = func(request string) (refuse, lose error) {
				if strings.HasPrefix(request, "PATCH") && len(s.system.Snapshot()) > 0 {
					return errors.New("crashed"), nil
				}
				return nil, nil
			}
		}, try, func(s *stage) { s.fault = nil }, restarted, incomplete, finalizers(one, two), deleted, forget, pass, waits, complete,
			named("vendor-1")},
		"policies that keep the external resource have nothing to wait for (N37, N3)": {exists, allow("Observe", "Create", "Update"),
			deleted, pass, called(""), emitted(managed.ReasonOrphaned), sees(deleting), reports(one, two), fails(failure.WaitingForFinalizers),
			object("our finalizer is gone", func(mg *thing.Thing) bool { return slices.Equal(mg.Finalizers, []string{one, two}) }),
			resources(1), forget, pass, wrote(0), emitted()},
		"an object that never had ours is not Ready either (N37)": {allow("Observe"), give(thing.Resource{Size: 1}), pass, sees(ready),
			finalizers(one, two), deleted, forget, pass, waits, resources(1)},
		"dependents are deleted first in the foreground (N37)": {pass, cascades(metav1.DeletePropagationForeground), collected,
			resources(0)},
		"dependents are orphaned first (N37)": {pass, cascades(metav1.DeletePropagationOrphan), collected, resources(0),
			holds("the Secret stays, without an owner", func(s *stage) bool {
				secret := &corev1.Secret{}
				return s.env.Client.Get(s.t.Context(), s.secret, secret) == nil && len(secret.OwnerReferences) == 0
			})},
	})
}

// Deletions that cannot proceed say so, and can be ended without the external system.
func TestStuckDeletion(t *testing.T) {
	stuck := func(reason failure.Reason, err error, verb string, given ...act) []act {
		return []act{then(given...), pass, refuseAll(verb, err), deleted, pass, until("the failure is reported", func(s *stage) bool {
			s.clock = s.clock.Add(11 * time.Second)
			return xpv1.FailureOf(s.thing()).Reason == reason
		}), sees("Ready=Deleting Synced=ReconcileError"), reports(meta.AnnotationKeyOrphanOnDelete), resources(1),
			annotate(meta.AnnotationKeyOrphanOnDelete, "true"), forget, changed, sees(gone), resources(1),
			emitted(managed.ReasonOrphaned), called("")}
	}
	throttled := func(verb string) []act {
		return []act{pass, refuseAll(verb, busy{}), deleted, forget, pass, sees("Ready=Deleting Synced=ReconcileError"), wrote(1), pass, wrote(0),
			fails(failure.ExternalSystemThrottled)}
	}
	strange := failure.Untrusted(errors.New("bad certificate"))
	away, hidden := failure.Unreachable(errors.New("no route")), failure.New(failure.ExternalSystemRefused, "denied")
	all := scripts{
		"no client can be made (N31, N32)":       stuck(failure.ProviderConfigUnavailable, errors.New("no config"), "Connect"),
		"credentials are refused (N31, N32)":     stuck(failure.ExternalSystemRefused, hidden, "Observe"),
		"the server is gone (N31, N32)":          stuck(failure.ExternalSystemUnreachable, away, "Observe"),
		"the server is gone before Delete (N31)": stuck(failure.ExternalSystemUnreachable, away, "Delete"),
		"the server is gone, in background (N31)": stuck(failure.ExternalSystemUnreachable, away, "Delete", inBackground,
			untilOperation("Finished Success")),
		"Observe is throttled (R182)":          throttled("Observe"),
		"Delete is throttled (R182)":           throttled("Delete"),
		"calls are paused (N31)":               stuck(failure.ExternalSystemUnreachable, failure.Unreachable(busy{}), "Connect"),
		"the certificate is not trusted (N31)": stuck(failure.ExternalSystemUntrusted, strange, "Connect"),
		"it is not suggested where waiting is enough": {pass, refuseAll("Delete", errors.New("not empty")), deleted, pass,
			func(s *stage) { s.equal("message", "deleting the external resource: not empty", s.message()) },
			sees("Ready=Deleting Synced=ReconcileError")},
	}
	play(t, all)
}

// brakes counts how often it is asked.
type brakes struct{ asked int }

func (b *brakes) AllowDeletion(context.Context, resource.Managed) (string, error) {
	b.asked++
	return "", nil
}

// A deletion that fails and is repeated counts once.
func TestRepeatedDeletionCountsOnce(t *testing.T) {
	b := &brakes{}
	play(t, scripts{"however often Delete fails (N39)": {with(managed.WithDeletionBrake(b)), pass,
		refuseAll("Delete", errors.New("not empty")), deleted, pass, later(time.Hour), pass, later(time.Hour), pass,
		func(s *stage) { s.equal("deletions counted", 1, b.asked) }}})
}

// A replacement deletes data, too, and counts once however often it is tried.
func TestReplacementCountsAsDeletion(t *testing.T) {
	b := &brakes{}
	play(t, scripts{"with permission (N39, N97)": {with(managed.WithDeletionBrake(b)), pass,
		observed(func(_ *thing.Thing, o *observation) { o.ResourceUpToDate, o.Replacing = false, true }), pass, pass,
		func(s *stage) { s.equal("deletions counted", 1, b.asked) }}})
}

// Waiting for a creation is no deletion that began.
func TestDeletionAfterCreationCounts(t *testing.T) {
	b := &brakes{}
	play(t, scripts{"in the background, after a restart (N39)": {with(managed.WithDeletionBrake(b)), inBackground,
		held("Create", pass, deleted, pass, restarted),
		eventually("the resource exists", func(s *stage) bool { return len(s.system.Snapshot()) == 1 }), untilOperation(gone),
		func(s *stage) { s.equal("deletions counted", 1, b.asked) }}})
}

// A deletion that was announced before Delete was called counts, after a restart too.
func TestAnnouncedDeletionCounts(t *testing.T) {
	b := &brakes{}
	play(t, scripts{"after a restart (N39)": {with(managed.WithDeletionBrake(b)), pass, deleted, func(s *stage) {
		mg := s.thing()
		mg.SetConditions(xpv1.Deleting().WithObservedGeneration(mg.Generation))
		if err := s.env.Client.Status().Update(s.t.Context(), mg); err != nil {
			s.t.Fatal(err)
		}
	}, later(time.Hour), restarted, pass, sees(gone), func(s *stage) { s.equal("deletions counted", 1, b.asked) }}})
}

// The user learns once what stays in the external system, in an event and at the default verbosity of the log.
func TestOrphaned(t *testing.T) {
	stays := func(because string, given ...act) []act {
		log := &logLines{}
		return []act{with(managed.WithLogger(log.logger(0))), pass, then(given...), deleted, forget, func(*stage) { log.take() },
			pass, sees(gone), resources(1), calls("Delete", 0), func(s *stage) {
				want := fmt.Sprintf("The external resource %s is not deleted, %s.", s.key.Name, because)
				s.equal("events", []event.Event{event.Normal(managed.ReasonOrphaned, want)}, s.events.All()[len(s.events.All())-1:])
				if lines := log.take(); len(lines) != 1 || !strings.Contains(lines[0], want) {
					s.t.Errorf("the log has %q", lines)
				}
			}}
	}
	const policies, foreign = "since the policies of the object do not permit its deletion", "since it does not belong to the object"
	other := alter(func(r *thing.Resource) { r.Owner = "another" })
	play(t, scripts{
		"deletionPolicy Orphan (N3)": stays(policies, edit(func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan })),
		"reclaimPolicy Retain (N3)":  stays(policies, edit(func(mg *thing.Thing) { mg.Spec.ReclaimPolicy = xpv1.ReclaimRetain })),
		"managementPolicies (N3)":    stays(policies, allow("Observe", "Create", "Update")),
		"the annotation (N31)": stays("as the annotation bowline.dev/orphan-on-delete requests",
			annotate(meta.AnnotationKeyOrphanOnDelete, "true")),
		"it belongs to another (N24)": stays(foreign, other),
		// Not even one that a user named: that was consent to adopt it once.
		"it belongs to another since a restart (N24)": stays(foreign, annotate(meta.AnnotationKeyExternalName, "NAME"), other,
			restarted),
		"nothing was created": {finalizer, vendorNames, annotate(meta.AnnotationKeyOrphanOnDelete, "true"), deleted, pass, sees(gone),
			emitted()},
		"its owner changes after it was found (N24)": {pass, slowDelete, deleted, pass, other, pass, sees(gone), resources(1),
			calls("Delete", 1)},
	})
}
