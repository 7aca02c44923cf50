// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// details of a resource of which Observe reports the endpoint.
func details(endpoint, password string) map[string]string {
	d := map[string]string{"endpoint": endpoint}
	if password != "" {
		d["password"] = password
	}
	return d
}

func endpoint(to string) act { return system(func(sys *thing.System) { sys.Endpoint = to }) }

// unwanted is an object that wants no connection Secret.
func unwanted(s *stage) {
	s.edit(func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
}

// What ends up in the connection Secret, and what does not.
func TestPublishing(t *testing.T) {
	boom := errors.New("boom")
	theirs := func(s *stage) { s.store(s.secret, nil) }
	updated := then(system(func(sys *thing.System) {
		sys.Updated = func(_ *thing.Thing, u *managed.ExternalUpdate) {
			u.ConnectionDetails = managed.ConnectionDetails{"token": []byte("returned-once")}
		}
	}), until("created", func(s *stage) bool { return s.has().Size == 1 && s.operation() != "Ongoing " }), size(2), forget,
		func(s *stage) {
			s.play(faults(func(verb string) (error, error) {
				if verb == "Observe" && slices.Contains(s.system.Calls, "Update") {
					return boom, nil
				}
				return nil, nil
			}))
		}, until("Observe fails", func(s *stage) bool { return s.message() == "observing the external resource: boom" }),
		publishes(map[string]string{"endpoint": "there", "password": "password-1", "token": "returned-once"}))
	play(t, scripts{
		"what Create and Observe return is merged (R206, R207, R213, R214, R217)": {pass, later(time.Minute), pass,
			publishes(details("there", "password-1")), func(s *stage) {
				secret := &corev1.Secret{}
				s.must(s.env.Client.Get(s.t.Context(), s.secret, secret))
				if !metav1.IsControlledBy(secret, s.thing()) || secret.Type != "connection.crossplane.io/v1alpha1" {
					s.t.Errorf("type %s, %+v", secret.Type, secret.ObjectMeta)
				}
			}},
		"what changed is overwritten, the rest stays (R208)": {pass, endpoint("elsewhere"), pass,
			publishes(details("elsewhere", "password-1"))},
		"not what comes with an error of Observe (R218)": {pass, endpoint("elsewhere"), lose("Observe", boom), pass,
			publishes(details("there", "password-1"))},
		"not what comes with an error of Create (R218)": {lose("Create", boom), pass, publishes(nil)},
		"a creation that is repeated has no other password (R34, R219, N22)": {replays, lose("Create", context.DeadlineExceeded), pass,
			restarted, pass, publishes(details("there", "password-1")), calls("Create", 2)},
		"creating anew replaces the password (R90, R208)": {pass, wiped, pass, publishes(details("there", "password-2"))},
		"what Observe returns, though the update is refused (R206, R27)": {pass, resize(2), endpoint("elsewhere"),
			refuse("Update", boom), pass, publishes(details("elsewhere", "password-1"))},
		"nothing without a request (R210)": {unwanted, pass, publishes(nil), sees(ready)},
		"nothing where there are no details (R206)": {observed(func(_ *thing.Thing, o *observation) {
			o.ConnectionDetails = nil
		}), system(func(sys *thing.System) {
			sys.Created = func(_ *thing.Thing, c *managed.ExternalCreation) error {
				c.ConnectionDetails = nil
				return nil
			}
		}), pass, publishes(nil), sees(ready)},
		"nothing where the name is missing (R210)": {edit(func(mg *thing.Thing) {
			mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{}
		}), pass, publishes(nil), sees(ready)},
		"unchanged details are not written, nor by a new process (R220, N13)": {pass, restarted, forget, pass, wrote(0)},
		"another owner's Secret is not overwritten, and details are kept (R214)": {theirs, pass,
			reports("does not belong to this object", "writeConnectionSecretToRef"), publishes(map[string]string{}),
			func(s *stage) { s.editSecret(nil) }, pass, publishes(details("there", "password-1"))},
		"another owner's Secret does not hold up a deletion (N32)": {finalizer, theirs,
			annotate("crossplane.io/external-create-pending", "2025-01-01T00:00:00Z"), deleted, pass, sees(gone)},
		// Details that only an update returns are stored before anything else may fail.
		"details of an update, within the pass (R208, N22, R217)":   {updated},
		"details of an update, in the background (R208, N22, R197)": {inBackground, updated},
		// A resource that lost its password, which was chosen at creation, gets it back from the connection Secret.
		"a stored password is set again (P65)": {chooses, pass,
			func(s *stage) {
				s.editSecret(func(secret *corev1.Secret) { secret.Data["password"] = []byte("stored") })
			},
			alter(func(r *thing.Resource) { r.Size, r.Password = 7, "" }), pass, sized(1),
			holds("the password", func(s *stage) bool { return s.has().Password == "stored" })},
		"where none is stored, none is set (P65)": {unwanted, chooses, pass,
			alter(func(r *thing.Resource) { r.Size, r.Password = 7, "" }), pass, sized(1),
			holds("no password", func(s *stage) bool { return s.has().Password == "" })},
		// Which keys the creation returned.
		"no keys are recorded where no Secret is wanted (R208, N22)": {unwanted, pass, object("no keys", func(mg *thing.Thing) bool {
			_, recorded := mg.Annotations[connection.AnnotationKeyCreatedKeys]
			return !recorded
		})},
		"keys that a process stored before it was cut off are recorded (R208, N22)": {pass,
			annotate(connection.AnnotationKeyCreatedKeys, ""),
			annotate("crossplane.io/external-create-succeeded", ""), restarted, pass, object("keys", func(mg *thing.Thing) bool {
				return mg.Annotations[connection.AnnotationKeyCreatedKeys] == "endpoint,password"
			})},
	})
}

// Connection details that people delete, or leave behind in another Secret, are reported, and nothing else happens.
func TestLostDetails(t *testing.T) {
	removed := func(s *stage) { s.editSecret(nil) }
	without := func(key string) act {
		return func(s *stage) { s.editSecret(func(secret *corev1.Secret) { delete(secret.Data, key) }) }
	}
	moved := then(removed, moves)
	reported := func(s *stage) {
		want := xpv1.CurrentFailure{Reason: failure.ConnectionDetailsLost, Stalled: true,
			Message: "the connection Secret lacks password, which cannot be read again: ask your platform team"}
		s.equal("failure", want, xpv1.FailureOf(s.thing()))
		s.play(sees(lostDetails), reports(s.secret.String(), "password", connection.AnnotationKeyCreatedKeys))
	}
	lost := func(acts ...act) []act {
		return slices.Concat([]act{pass, forget}, acts, []act{pass, reported, pass, reported, emitted(managed.ReasonDetailsLost),
			calls("Update", 0), calls("Create", 0), holds("the resource is as it was",
				func(s *stage) bool { return s.has().Password != "" }),
			publishes(details("there", ""))})
	}
	// An object whose connection Secret loses something is enqueued at once. What Observe reports is published again.
	noticed := func(lose act, reason failure.Reason, want map[string]string) []act {
		var enqueued act
		return []act{pass, func(s *stage) { enqueued = s.watchSecrets() }, pass, lose, func(s *stage) { s.play(enqueued) },
			func(s *stage) { s.must(s.request(s.key)) }, publishes(want),
			object("reason", func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == reason })}
	}
	play(t, scripts{
		"the Secret is deleted (R208, N22)":                     lost(removed),
		"the Secret is deleted while no process runs (N22)":     lost(removed, restarted),
		"the key is deleted (R208, N22)":                        lost(without("password")),
		"the object names another Secret (P65, N22)":            lost(moved),
		"the object names another Secret after a restart (P65)": lost(moved, restarted),
		"a client that chooses passwords sets no other one (P65)": append(
			[]act{chooses}, lost(removed)...),
		"noticed at once: the Secret is deleted (R208, N22)": noticed(removed, failure.ConnectionDetailsLost, details("there", "")),
		"noticed at once: a key of the creation is deleted (R208, N22)": noticed(without("password"), failure.ConnectionDetailsLost,
			details("there", "")),
		"noticed at once: a key that Observe reports is deleted (R208)": noticed(without("endpoint"), "",
			details("there", "password-1")),
		"noticed at once: the Secret loses its owner (R214)": noticed(
			func(s *stage) { s.editSecret(func(secret *corev1.Secret) { secret.OwnerReferences = nil }) },
			failure.ConnectionSecretUnavailable, details("there", "password-1")),
		"people add them again (R208, N22)": {pass, removed, pass, func(s *stage) {
			s.editSecret(func(secret *corev1.Secret) { secret.Data["password"] = []byte("password-1") })
		}, pass, func(s *stage) { s.play(sees(healthy(s))) }},
		"people do without them (R208, N22)": {pass, removed, pass, annotate(connection.AnnotationKeyCreatedKeys, ""), pass,
			func(s *stage) { s.play(sees(healthy(s))) }},
	})
}

// The answer of a create is lost, and nothing repeats it: the object reports what its Secret lacks until a person acts.
func TestLostAnswer(t *testing.T) {
	unanswered := lose("Create", failure.OutcomeUnknown(errors.New("connection reset")))
	isLost := then(unanswered, pass, later(time.Minute), pass, sees(lostDetails), resources(1), calls("Create", 1))
	stays := then(forget, later(time.Hour), pass, sees(lostDetails), emitted(), wrote(0), restarted, pass, sees(lostDetails))
	dismissed := then(annotate(connection.AnnotationKeyCreatedKeys, ""), pass, sees(ready), restarted, pass, sees(ready))
	set := func(s *stage) {
		s.editSecret(func(secret *corev1.Secret) { secret.Data["password"] = []byte("reset") })
	}
	shown := then(isLost, emitted(managed.ReasonCannotCreate, managed.ReasonDetailsLost), func(s *stage) {
		mg, failed := s.thing(), xpv1.FailureOf(s.thing())
		if mg.GetCondition(xpv1.TypeInSync).Status == "True" || failed.Message == "" || failed.Reason != failure.ConnectionDetailsLost || !failed.Stalled {
			s.t.Errorf("failure %+v, conditions %+v", failed, mg.Status.Conditions)
		}
		s.play(reports(s.secret.String(), "reset it in the external system", connection.AnnotationKeyCreatedKeys))
	}, stays)
	keeps := func(given ...act) []act {
		return append(given, unanswered, pass, later(time.Minute), pass, sees(ready), resources(1))
	}
	play(t, scripts{
		"a known name: it is reported until a person dismisses it (N22, N42)": {shown, dismissed},
		"a name that is found: so it is (N22, N42)":                           {findable, shown, dismissed},
		"a kind knows the key, and a person adds it (N22, N42)":               {functions, shown, reports("lacks password"), set, pass, sees(ready)},
		"a kind whose name is found knows it, too (N5, N22, N42)":             {functions, findable, functions, shown, set, pass, sees(ready)},
		"the stored password is that of an earlier resource (N22, N42)":       {functions, pass, wiped, later(time.Minute), forget, shown, dismissed},
		"policies do not permit to repeat the create (N22, N42)":              {functions, replays, unanswered, pass, allow("Observe", "Update", "Delete"), pass, sees(lostDetails)},
		"it is deleted all the same (R54)":                                    {shown, deleted, pass, sees(gone), resources(0)},
		"a resource that is not complete may still return it (N22)": {observed(func(mg *thing.Thing, _ *observation) {
			mg.SetConditions(xpv1.Creating())
		}), unanswered, passes(2), sees("Ready=Creating Synced=ReconcileSuccess"), observed(nil), pass, sees(lostDetails)},
		"what the client chose is stored (N22)":                                  keeps(chooses),
		"what the system repeats is stored (N22)":                                keeps(replays),
		"where no Secret is wanted nothing is missing (R210)":                    keeps(unwanted),
		"a create that was refused had no answer: an adopted resource (R95, N6)": {refuse("Create", errors.New("over quota")), pass, give(thing.Resource{Size: 1}), pass, sees(ready)},
	})
}

// newQueue returns a queue that ends with the stage.
func (s *stage) newQueue() workqueue.TypedRateLimitingInterface[reconcile.Request] {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	s.whole.Cleanup(queue.ShutDown)
	return queue
}

// watchSecrets replaces the reconciler by one that watches the Secrets of the stage, while the test makes the passes. enqueued
// waits until the Thing is enqueued.
func (s *stage) watchSecrets() (enqueued act) {
	s.t.Helper()
	mgr := s.manager(cache.Options{DefaultNamespaces: map[string]cache.Config{s.env.Namespace: {}}})
	s.reconciler = managed.NewReconciler(mgr, resource.ManagedKind(s.kind), s.options...)
	queue := s.newQueue()
	s.must(s.reconciler.Wakeups().Start(s.t.Context(), queue))
	go func() { _ = mgr.GetCache().Start(s.whole.Context()) }()
	if !mgr.GetCache().WaitForCacheSync(s.t.Context()) { // a change before that is no event
		s.t.Fatal("the cache does not start")
	}
	return func(s *stage) {
		defer time.AfterFunc(30*time.Second, queue.ShutDown).Stop()
		for {
			req, down := queue.Get()
			if down {
				s.t.Fatal("the Thing is not enqueued")
			}
			if queue.Done(req); req.NamespacedName == s.key {
				return
			}
		}
	}
}

func TestNamespacedKind(t *testing.T) {
	t.Parallel()
	local := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(local), thing.AddLocalToScheme(local)); err != nil {
		t.Fatal(err)
	}
	s := stageIn(t, controlplanetest.NewWithScheme(t, local))
	defaultEvents(s)
	s.kind, s.key.Namespace, s.draft.Namespace = thing.LocalGroupVersionKind, s.env.Namespace, s.env.Namespace
	s.draft.Spec.WriteConnectionSecretToReference.Namespace = ""
	namesake := s.draft.DeepCopy()
	namesake.Namespace = controlplanetest.NewWithScheme(t, local).Namespace
	s.create(namesake)
	for _, m := range []moment{
		{"it is created, and its namesake is another object (N1, R50, R22)", []act{pass, sees(ready), func(s *stage) {
			s.must(s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(namesake), namesake))
			if len(namesake.Status.Conditions)+len(namesake.Finalizers) != 0 {
				s.t.Errorf("namesake %+v", namesake)
			}
		}}},
		{"its Secret is in its own namespace (N2, R209)", []act{publishes(details("there", "password-1"))}},
		{"its events are in its own namespace (N1, R50, R204)", []act{func(s *stage) {
			events := &corev1.EventList{}
			s.must(s.env.Client.List(s.t.Context(), events, client.InNamespace(s.key.Namespace)))
			if len(events.Items) != 1 {
				s.t.Errorf("events %+v", events.Items)
			}
		}}},
		{"it is deleted (N1, R50, R54)", []act{deleted, pass, sees(gone), resources(0)}},
	} {
		t.Run(m.name, func(t *testing.T) { s.t = t; s.play(m.acts...) })
	}
}

// A person that reads about the connection Secret of another object must be able to act, also if the Secret cannot be deleted yet.
func TestForeignSecret(t *testing.T) {
	play(t, scripts{
		"what to do about another owner's Secret (R214)": {func(s *stage) {
			s.store(s.secret, nil)
			s.editSecret(func(secret *corev1.Secret) {
				secret.Finalizers = []string{"in-use.crossplane.io/provider-config"}
				secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Server", Name: "old", UID: "gone", Controller: new(true)}}
			})
		}, pass, reports(`but to Server "old" with UID gone`, "or delete that object, if it still exists, and the Secret"),
			func(s *stage) { s.editSecret(nil) }, pass,
			reports("wait until its deletion finishes, which finalizers delay (in-use.crossplane.io/provider-config)", "no ProviderConfig in use"),
			func(s *stage) { s.editSecret(func(secret *corev1.Secret) { secret.Finalizers = nil }) }, pass,
			publishes(details("there", "password-1"))},
	})
}

// A ProviderConfig that uses the connection Secret is named in the status, which admission reads.
func TestInUse(t *testing.T) {
	mark := func(user string) act {
		return func(s *stage) {
			secret := &corev1.Secret{}
			s.must(s.env.Client.Get(s.t.Context(), s.secret, secret))
			patch := `{"metadata":{"annotations":{"in-use.bowline.dev/u":` + user + `}}}`
			s.must(s.env.Client.Patch(s.t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(patch))))
		}
	}
	used, unused := mark(`"ProviderConfig.sql.example.org default"`), mark("null")
	shows := func(reason xpv1.ConditionReason, message string) act {
		return object("condition InUse is "+string(reason), func(mg *thing.Thing) bool {
			c := mg.GetCondition(xpv1.TypeInUse)
			return c.Reason == reason && c.Message == message
		})
	}
	const by = "Its connection Secret is used by ProviderConfig.sql.example.org default."
	play(t, scripts{
		"nothing is shown as long as nothing uses it (N13, N39)": {pass, later(time.Minute), pass, shows("", "")},
		"a user is shown, and its end (N39)":                     {pass, used, later(time.Minute), pass, shows("InUse", by), unused, later(time.Minute), pass, shows("NotInUse", "")},
		"also of a paused object (N39)":                          {pass, annotate(meta.AnnotationKeyReconciliationPaused, "true"), used, pass, shows("InUse", by)},
		"a deletion that begins before it is shown waits (N39)": {pass, used, deleted, pass, fails(failure.ExternalResourceInUse), pass,
			resources(1), unused, pass, sees(gone)},
		"it is written once (N13, N39)": {pass, used, later(time.Minute), pass, later(time.Minute), nothingNew},
	})
}
