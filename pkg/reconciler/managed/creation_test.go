// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const pending = "2026-01-01T00:00:00Z"

var (
	externalName = annotate(meta.AnnotationKeyExternalName, "NAME")
	proposed     = then(externalName, annotate(meta.AnnotationKeyExternalNameProposed, "true"))
	began        = then(externalName, createPending)
	createFailed = then(began, annotate(meta.AnnotationKeyExternalCreateFailed, pending))
	created      = then(began, annotate(meta.AnnotationKeyExternalCreateSucceeded, pending))

	takeOver      = annotate(meta.AnnotationKeyTakeOverFrom, "another")
	createPending = annotate(meta.AnnotationKeyExternalCreatePending, pending)
)

// Whose external resource of its name an object adopts, and deletes with itself.
func TestOwnership(t *testing.T) {
	const noOwner, otherOwner, own types.UID = "", "another", "own"
	exists := func(owner types.UID, given ...act) []act {
		return append(given, func(s *stage) {
			if owner == own {
				owner = s.thing().UID
			}
			s.system.Resources[s.key.Name] = thing.Resource{Size: 7, Owner: owner}
		}, passes(2))
	}
	adopted := func(owner types.UID, given ...act) []act {
		return append(exists(owner, given...), sized(1), sees(ready), deleted, pass, sees(gone), resources(0))
	}
	refused := func(owner types.UID, given ...act) []act {
		return append(exists(owner, given...),
			reports("exists already", meta.AnnotationKeyExternalName), sees("Ready=Unavailable Synced=ReconcileError"),
			object("nothing of it shows", func(mg *thing.Thing) bool { return mg.Status.AtProvider.Size == 0 }),
			deleted, pass, sees(gone), func(s *stage) {
				s.equal("resources", map[string]thing.Resource{s.key.Name: {Size: 7, Owner: owner}}, s.system.Snapshot())
			})
	}
	play(t, scripts{
		"unknown owner: a default name takes over nothing (N24)":         refused(noOwner, unlabelled),
		"without an owner, created by hand (R35, N6, N24)":               refused(noOwner),
		"of another owner (R35, N6, N24)":                                refused(otherOwner),
		"our own (N6)":                                                   adopted(own),
		"ours was refused, unlabelled (N6)":                              refused(noOwner, unlabelled, createFailed),
		"of another owner, with its name (N48)":                          refused(otherOwner, externalName),
		"taken over from its owner (N48)":                                adopted(otherOwner, takeOver),
		"taken over, by its name (N48)":                                  adopted(otherOwner, externalName, takeOver),
		"taken over, its name proposed by a claim (N48)":                 adopted(otherOwner, proposed, takeOver),
		"taken back with permission (N48)":                               adopted(otherOwner, externalName, finalizer, takeOver),
		"not taken back: two objects would fight for it (N24)":           refused(otherOwner, externalName, finalizer),
		"the permission names another owner (N48)":                       refused("third", externalName, takeOver),
		"taken over without permission to update (N48)":                  refused(otherOwner, takeOver, allow("Observe", "Create", "Delete")),
		"name given (R70)":                                               adopted(noOwner, externalName),
		"name proposed by a claim (N6, N24)":                             refused(noOwner, proposed),
		"proposed, unlabelled (N24)":                                     refused(otherOwner, proposed, unlabelled),
		"proposed, our own (N6)":                                         adopted(own, proposed),
		"creation began, unlabelled: nothing else created it (N5)":       adopted(noOwner, unwanted, unlabelled, began),
		"creation began, without an owner: ours would have a label (N6)": refused(noOwner, began),
		"created, without labels: people remove them (P15)":              adopted(noOwner, created),
		"created, now of another owner (N24)":                            refused(otherOwner, created),
	})
}

// What the ProviderConfig lets an object adopt that asks for it.
func TestAdoptionRules(t *testing.T) {
	const unowned, other types.UID = "", "another"
	exists := func(owner types.UID, namespace string, rules resource.Adoption, given ...act) act {
		return then(then(given...), func(s *stage) {
			s.system.Resources[s.key.Name] = thing.Resource{Size: 7, Owner: owner, Namespace: namespace}
			s.system.Adoption = rules
			s.system.Adoption.Of = `ProviderConfig "shared"`
		}, passes(2))
	}
	adopted := func(owner types.UID, namespace string, rules resource.Adoption, given ...act) []act {
		return []act{exists(owner, namespace, rules, given...), sized(1), sees(ready), system(func(s *thing.System) {
			s.Adoption = resource.Adoption{Policy: xpv1.AdoptNone}
		}), size(2), pass, sized(2), sees(ready), deleted, pass, sees(gone), resources(0)}
	}
	refused := func(owner types.UID, namespace string, rules resource.Adoption, because string, given ...act) []act {
		return []act{exists(owner, namespace, rules, given...), reports("exists already", because), sees("Ready=Unavailable Synced=ReconcileError"),
			deleted, pass, sees(gone), func(s *stage) {
				want := map[string]thing.Resource{s.key.Name: {Size: 7, Owner: owner, Namespace: namespace}}
				s.equal("resources", want, s.system.Snapshot())
			}}
	}
	none, owned := resource.Adoption{Policy: xpv1.AdoptNone}, resource.Adoption{Policy: xpv1.AdoptOwned}
	names := func(patterns ...string) resource.Adoption { return resource.Adoption{Names: patterns} }
	team := resource.Adoption{Namespace: "team"}
	const mark = "labelled bowline-namespace: team"
	play(t, scripts{
		"None (N48)":                        refused(unowned, "", none, `"shared" does not permit to adopt it: its spec.adoption is None`, externalName),
		"None, taken over (N48)":            refused(other, "", none, "its spec.adoption is None", takeOver),
		"Owned (N48)":                       adopted(other, "", owned, takeOver),
		"Owned, without an owner (N48)":     refused(unowned, "", owned, "its spec.adoption is Owned", externalName),
		"None, a forged creation (N54)":     refused(unowned, "", none, "its spec.adoption is None", created),
		"None, a forged adoption (N54)":     refused(unowned, "", none, "its spec.adoption is None", externalName, finalizer),
		"Owned, a forged creation (N54)":    refused(unowned, "", owned, "its spec.adoption is Owned", created),
		"another name, forged (N54)":        refused(unowned, "", names("things"), "adoptableNames do not contain the name", created),
		"Any, by default (N48)":             adopted(unowned, "", resource.Adoption{}, externalName),
		"one of the names (N48)":            adopted(unowned, "", names("no", "*-thi*g"), externalName),
		"another name (N48)":                refused(unowned, "", names("thing", "thing*", "*-things"), "adoptableNames do not contain the name", externalName),
		"another namespace's (N48)":         refused(unowned, "others", team, mark, externalName),
		"another namespace's, taken (N48)":  refused(other, "others", team, mark, takeOver),
		"no namespace's (N48)":              refused(unowned, "", team, mark, externalName),
		"a forged creation (N48)":           refused(unowned, "", team, mark, created),
		"a forged adoption (N48)":           refused(unowned, "", team, mark, externalName, finalizer),
		"without labels, forged name (N48)": refused(unowned, "", team, "nothing shows whose resources", unlabelled, externalName),
		"its own namespace's (N48)":         adopted(unowned, "team", team, externalName),
		"its own namespace's, taken (N48)":  adopted(other, "team", team, takeOver),
	})
}

// What the object that created it chose is unknown to the one that takes it over, and applications may use it.
func TestAdoptedWithoutItsCredentials(t *testing.T) {
	play(t, scripts{"the password is reported as lost until a person adds it (N42, N48)": {
		takeOver, system(func(s *thing.System) { s.Chooses = true }), func(s *stage) {
			s.system.Resources[s.key.Name] = thing.Resource{Size: 7, Owner: "another", Password: "theirs"}
		}, passes(2), sized(1), reports("lacks password"), sees(lostDetails),
		object("the claim can see it", func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == failure.ConnectionDetailsLost }),
		holds("the password stays", func(s *stage) bool { return s.has().Password == "theirs" }),
		func(s *stage) {
			s.editSecret(func(secret *corev1.Secret) { secret.Data["password"] = []byte("theirs") })
		},
		pass, sees(ready), object("the permission ended", func(mg *thing.Thing) bool {
			_, permitted := mg.Annotations[meta.AnnotationKeyTakeOverFrom]
			return !permitted
		}),
	}})
}

// The way to take over what was left behind: observe it first, then let the object do more.
func TestImport(t *testing.T) {
	left := func(owner types.UID) []act {
		return []act{annotate(meta.AnnotationKeyExternalName, "theirs"), annotate(meta.AnnotationKeyTakeOverFrom, string(owner)), allow("Observe"), func(s *stage) {
			s.system.Resources["theirs"] = thing.Resource{Size: 9, Owner: owner}
		}, pass, holds("it is only observed", func(s *stage) bool {
			have := s.system.Snapshot()["theirs"]
			return have.Owner == owner && have.Size == 9 && !meta.FinalizerExists(s.thing(), managed.Finalizer)
		}), allow("*"), pass, holds("it is adopted", func(s *stage) bool {
			have := s.system.Snapshot()["theirs"]
			return have.Owner == s.thing().UID && have.Size == 1 && meta.FinalizerExists(s.thing(), managed.Finalizer)
		})}
	}
	play(t, scripts{
		"a resource of an object that is gone (R70, R136, N6, N24)": left("gone"),
		"a resource without an owner (R70, R136, N6, N24)":          left(""),
	})
}

// Under which name the external resource is created and observed.
func TestExternalName(t *testing.T) {
	under := func(calls, atCreate, want string) act {
		shown := ""
		return then(during("Create", func(s *stage) { shown = meta.GetExternalName(s.thing()) }), pass, called(calls), func(s *stage) {
			s.equal("name at Create", strings.ReplaceAll(atCreate, "NAME", s.key.Name), shown)
			want := strings.ReplaceAll(want, "NAME", s.key.Name)
			s.play(named(want), resources(1), holds("its size", func(s *stage) bool { return s.system.Snapshot()[want].Size == 1 }))
		}, deleted, pass, resources(0))
	}
	exists := func(name string) act {
		return then(annotate(meta.AnnotationKeyExternalName, name),
			func(s *stage) { s.system.Resources[name] = thing.Resource{Size: 7} })
	}
	// A name that a careless client sets on the object is not kept, not even for the rest of the pass.
	set := func(change func(*thing.System)) []act {
		return []act{pass, func(s *stage) { s.system.Resources["other"] = thing.Resource{Size: 5} }, size(2), system(change), pass,
			sized(2),
			holds("the name and the other resource stay", func(s *stage) bool {
				mg := s.thing()
				return s.system.Snapshot()["other"].Size == 5 && meta.GetExternalName(mg) == s.key.Name && mg.Status.AtProvider.Size == 2
			})}
	}
	play(t, scripts{
		"the object's name by default (R63, R67, R73)": {under(creates, "NAME", "NAME")},
		"one that looks like another (R64)": {annotate(meta.AnnotationKeyExternalName, "pay\u200broll"), pass,
			reports(`"pay\u200broll" contains '\u200b', which cannot be seen`), resources(0), deleted, pass, sees(gone)},
		"one with a mark of the text direction (R64)": {annotate(meta.AnnotationKeyExternalName, "\u202elatot"), pass,
			reports("which cannot be seen"), resources(0)},
		"a blank one (R64)": {annotate(meta.AnnotationKeyExternalName, " "), pass, reports("begins or ends with a space"), resources(0)},
		"one in use stays in use (R64)": {annotate(meta.AnnotationKeyExternalName, "old "), finalizer, func(s *stage) {
			s.system.Resources["old "] = thing.Resource{Size: 1, Owner: s.thing().UID}
		}, pass, sees(ready)},
		"a name that was given (R64, R67, R68)": {annotate(meta.AnnotationKeyExternalName, "custom"),
			under(creates, "custom", "custom")},
		"a name that was given, of what exists (R64, R68, R70, N6)": {exists("custom"), under(updates, "", "custom")},
		"the vendor's (R65, R66, R69, R71, R72)":                    {vendorNames, under("Connect Create Observe", "", "vendor-1")},
		"the vendor's, given (R64, R70, R71)":                       {vendorNames, exists("vendor-7"), under(updates, "", "vendor-7")},
		"a name that Observe sets (R65)": set(func(sys *thing.System) {
			sys.Observed = func(mg *thing.Thing, _ *observation) { meta.SetExternalName(mg, "other") }
		}),
		"a name that Update sets (R65)": set(func(sys *thing.System) {
			sys.Updated = func(mg *thing.Thing, _ *managed.ExternalUpdate) { meta.SetExternalName(mg, "other") }
		}),
	})
}

// withoutSecrets is a client that may not use the Secrets of the object, as one with --secret-namespaces.
type withoutSecrets struct{ client.Client }

func (c withoutSecrets) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	if _, is := into.(*corev1.Secret); is {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("another namespace"))
	}
	return c.Client.Get(ctx, key, into, o...)
}

func TestCreation(t *testing.T) {
	success := annotate(meta.AnnotationKeyExternalCreateSucceeded, pending)
	failed := annotate(meta.AnnotationKeyExternalCreateFailed, pending)
	atOnce := then(with(managed.WithCreationGracePeriod(0)), pass, named("vendor-1"), sees(ready))
	unknown := failure.OutcomeUnknown(errors.New("internal error"))
	interrupted := holds("it needs manual intervention", func(s *stage) bool {
		return xpv1.FailureOf(s.thing()) == xpv1.CurrentFailure{Reason: failure.CreateInterrupted, Stalled: true}
	})
	timesOut := lose("Create", context.DeadlineExceeded)
	ended := object("the creation ended", func(mg *thing.Thing) bool { return !meta.ExternalCreateUnacknowledged(mg) })
	play(t, scripts{
		"nothing is created while the Secret is out of reach (N22)": {func(s *stage) {
			s.wrap = func(c client.Client) client.Client { return withoutSecrets{c} }
		}, pass, reports("forbidden"), calls("Create", 0), func(s *stage) { s.wrap = nil }, restarted, pass,
			publishes(details("there", "password-1"))},
		// A creation that has a result, or never began, needs no manual intervention.
		"pending as old as the success (R83)": {vendorNames, createPending, success, atOnce},
		"pending as old as the failure (R95)": {vendorNames, createPending, failed, atOnce},
		"nothing was ever begun (R83)":        {vendorNames, atOnce},
		// An error that leaves open whether the resource was created does not prove that it was not; a refusal does.
		"a timeout needs manual intervention (R84)": {vendorNames, timesOut, pass, later(time.Hour), pass, interrupted,
			resources(1)},
		"an internal error needs manual intervention (R84)": {vendorNames, lose("Create", unknown), pass, later(time.Hour), pass,
			interrupted, resources(1)},
		"several that were created need manual intervention (N88)": {findable, timesOut, pass, later(time.Hour),
			refuseAll("FindCreated", failure.Terminal(failure.New(failure.CreateInterrupted, "two"))), pass, interrupted, resources(1)},
		"a refusal is retried (R95)": {vendorNames, refuse("Create", errors.New("quota exceeded")), pass, later(time.Hour), pass,
			sees(ready), resources(1)},
		"the time of a failure is recorded and the next pass may create (R75, R76, R80, R87, R95)": {
			refuse("Create", errors.New("no room left")), pass, annotations(map[string]string{"crossplane.io/external-name": "NAME",
				"crossplane.io/external-create-pending": pending, "crossplane.io/external-create-failed": pending}),
			pass, calls("Create", 2), object("the failure stays", func(mg *thing.Thing) bool {
				return mg.Annotations["crossplane.io/external-create-failed"] == pending
			})},
		// What a user does to the object while Create runs must not cost the result.
		"an edit during Create (R93)": {vendorNames, during("Create", edit(func(mg *thing.Thing) {
			mg.Spec.ForProvider.Size = 5
			delete(mg.Annotations, meta.AnnotationKeyExternalCreatePending)
		})), pass, mended, pass, named("vendor-1"), resources(1),
			holds("it has the new size", func(s *stage) bool { return s.system.Snapshot()["vendor-1"].Size == 5 })},
		// A creation whose answer would be asked for again has ended all the same.
		"nothing is replayed if the user names another resource (N22, N6, R70)": {replays, refuse("Create", errors.New("over quota")),
			pass,
			func(s *stage) { s.system.Resources["other"] = thing.Resource{Size: 1} }, annotate(meta.AnnotationKeyExternalName, "other"),
			forget, pass, sees(ready), calls("Create", 0), ended, named("other"), resources(1)},
		"nothing is replayed if the policies lack Create (N22, R110)": {replays, timesOut, pass, allow("Observe", "Update", "Delete"),
			forget, pass, sees(lostDetails), calls("Create", 0), ended, resources(1)},
		// A provider that does not report what it created must not create for ever.
		"without a name it stops until a person adds it (R65, R84)": {vendorNames, system(func(sys *thing.System) {
			sys.Created = func(mg *thing.Thing, _ *managed.ExternalCreation) error {
				delete(mg.Annotations, meta.AnnotationKeyExternalName)
				return nil
			}
		}), pass, requeued(0, 0), reports("bug in the provider", meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreatePending),
			emitted(managed.ReasonCannotCreate), later(time.Hour), pass, requeued(0, 0), later(time.Hour), pass, requeued(0, 0),
			calls("Create", 1),
			annotate(meta.AnnotationKeyExternalName, "vendor-1"), annotate(meta.AnnotationKeyExternalCreatePending, ""),
			pass, sees(ready), resources(1)},
		"details that cannot be stored do not keep the resource from being deleted (N22, N32, R214)": {vendorNames, replays,
			func(s *stage) { s.store(s.secret, nil) }, pass, reports("does not belong to this object"), named("vendor-1"),
			deleted, restarted, later(time.Minute), pass, sees(gone), resources(0)},
		// A resource that was accepted and then waited for in vain exists, and its password is known.
		"accepted, then failed, in the pass (N22, N5)":       {acceptedThenFailed},
		"accepted, then failed, in the background (N22, N5)": {inBackground, acceptedThenFailed},
	})
}

func acceptedThenFailed(s *stage) {
	fails := func(*thing.Thing, *managed.ExternalCreation) error {
		return failure.Accepted(errors.New("waited in vain"))
	}
	s.play(vendorNames, system(func(sys *thing.System) { sys.Created = fails }),
		until("the error shows", func(s *stage) bool { return strings.Contains(s.message(), "waited in vain") }),
		holds("the password is stored", func(s *stage) bool { return s.connection()["password"] == "password-1" }),
		restarted, later(time.Minute), pass, named("vendor-1"), resources(1), complete)
}

// A creation that was cut off may still be under way; only a client that repeats its answer may ask at once.
func TestCutOffCreation(t *testing.T) {
	cutOff := func(created int) act {
		return then(createPending, later(time.Second), pass, calls("Create", created),
			later(-time.Hour), pass, requeued(0, time.Minute+time.Minute/10), // a clock that was set back
			later(2*time.Hour), pass, sees(ready))
	}
	playBoth(t, scripts{
		"it waits (N26)":      {cutOff(0)},
		"it replays it (N22)": {replays, cutOff(1)},
	})
}
