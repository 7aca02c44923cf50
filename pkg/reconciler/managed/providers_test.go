// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// What providers rely on that were written for the published runtime.

// gated are clients of a system that can be had once open returns no error.
type gated struct {
	*thing.System
	open func(context.Context) error
}

func (g gated) Connect(ctx context.Context, mg *thing.Thing) (managed.TypedExternalClient[*thing.Thing], error) {
	if err := g.open(ctx); err != nil {
		return nil, err
	}
	return g.System.Connect(ctx, mg)
}

// One call sets up a controller whose objects wait for no poll after their ProviderConfig changed: here it is a Thing, too.
func TestSetupWithManager(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	options := managed.CacheOptions()
	options.ByObject[&thing.Thing{}] = cache.ByObject{Label: labels.SelectorFromSet(f.label)}
	run := manager.Options{Scheme: scheme(), Cache: options, Controller: config.Controller{SkipNameValidation: new(true)}}
	controlplanetest.RunManager(t, f.env.Config, run, func(mgr manager.Manager) error {
		clients := gated{f.system, func(ctx context.Context) error {
			return mgr.GetClient().Get(ctx, types.NamespacedName{Name: f.env.Prefix + "config"}, &thing.Thing{})
		}}
		r := managed.NewReconciler(mgr, resource.ManagedKind(thing.ThingGroupVersionKind), managed.WithTypedExternalConnecter[*thing.Thing](clients),
			managed.WithPollInterval(time.Hour), managed.WithBackoff(time.Hour, time.Hour))
		return r.SetupWithManager(mgr, &thing.Thing{})
	})
	user := f.add("user", func(mg *thing.Thing) {
		mg.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: f.env.Prefix + "config"}
	})
	waitFor(t, f.env, user, "it fails without its configuration", func(mg *thing.Thing) bool {
		return mg.GetCondition(xpv1.TypeSynced).Reason == xpv1.ReasonReconcileError
	})
	f.add("config", func(mg *thing.Thing) {
		mg.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	})
	waitFor(t, f.env, user, "the configuration wakes it", available)
}

// A localThing names its connection Secret without a namespace.
type localThing struct{ thing.Thing }

func (l *localThing) DeepCopyObject() runtime.Object { return &localThing{*l.Thing.DeepCopy()} }

func (l *localThing) SetWriteConnectionSecretToReference(r *xpv1.LocalSecretReference) {
	l.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: r.Name}
}

func (l *localThing) GetWriteConnectionSecretToReference() *xpv1.LocalSecretReference {
	if l.Spec.WriteConnectionSecretToReference == nil {
		return nil
	}
	return &xpv1.LocalSecretReference{Name: l.Spec.WriteConnectionSecretToReference.Name}
}

func TestLocalConnectionSecret(t *testing.T) {
	t.Parallel()
	local := runtime.NewScheme()
	local.AddKnownTypeWithName(thing.LocalGroupVersionKind, &localThing{})
	metav1.AddToGroupVersion(local, thing.LocalGroupVersionKind.GroupVersion())
	if err := corev1.AddToScheme(local); err != nil {
		t.Fatal(err)
	}
	s := stageIn(t, controlplanetest.NewWithScheme(t, local), managed.WithExternalConnecter(newShelf()))
	s.kind, s.key.Namespace = thing.LocalGroupVersionKind, s.env.Namespace
	mg := &localThing{*s.draft}
	mg.Namespace, mg.Spec.WriteConnectionSecretToReference.Namespace, s.draft = s.env.Namespace, "", nil
	s.must(s.env.Client.Create(t.Context(), mg))
	t.Cleanup(func() { strike(s.env, mg) })
	t.Run("it is in the namespace of the object (N2, R209)", func(t *testing.T) {
		s.t = t
		s.play(pass, publishes(map[string]string{"username": "admin", "password": "secret"}))
	})
}

// Metadata that Observe sets is stored if it reports late initialization, as the spec is.
func TestLateInitializedMetadata(t *testing.T) {
	const key = "provider.example.org/region"
	sets := func(late bool) act {
		return observed(func(mg *thing.Thing, o *observation) {
			if !o.ResourceExists {
				return
			}
			o.ResourceLateInitialized = late
			mg.SetLabels(map[string]string{key: "north"})
			metav1.SetMetaDataAnnotation(&mg.ObjectMeta, key, "north")
			metav1.SetMetaDataAnnotation(&mg.ObjectMeta, meta.AnnotationKeyReconciliationPaused, "true")
		})
	}
	stored := func(want string) act {
		return object(fmt.Sprintf("label and annotation %q", want), func(mg *thing.Thing) bool {
			return mg.Labels[key] == want && mg.Annotations[key] == want && !meta.IsPaused(mg)
		})
	}
	zone := zoneOf("zone-a")
	refusedLabel := observed(func(mg *thing.Thing, o *observation) {
		o.ResourceLateInitialized = o.ResourceExists
		mg.SetLabels(map[string]string{key: "no label value"})
	})
	refusal := then(sees(notSynced), reports("late initialization of label "+key+","), object("the reason", func(mg *thing.Thing) bool {
		return xpv1.FailureOf(mg).Reason == failure.SpecRefused
	}))
	play(t, scripts{
		"it is stored, once (R150, N13)": {sets(true), pass, sees(ready), stored("north"), nothingNew, restarted, nothingNew},
		"together with settings (R150)":  {zone, sets(true), pass, stored("north"), object("zone", func(mg *thing.Thing) bool { return *mg.Spec.ForProvider.Zone == "zone-a" })},
		"one that is refused is reported once, and the rest is done (R150, N13)": {pass, refusedLabel, forget, resize(7), pass, emitted(managed.ReasonUpdated, managed.ReasonCannotFill),
			refusal, sized(1), resize(7), pass, emitted(managed.ReasonUpdated), refusal, sized(1), nothingNew, later(66 * time.Second), forget, pass,
			emitted(), refusal, observed(nil), pass, sees(ready)},
		"one that is refused keeps no setting from being stored (R150)": {zone, refusedLabel, pass, refusal, nothingNew, refusal,
			object("zone", func(mg *thing.Thing) bool {
				return mg.Spec.ForProvider.Zone != nil && *mg.Spec.ForProvider.Zone == "zone-a"
			})},
		"although settings are refused (R150)":      {zoneOf("zone-with-a-long-name"), sets(true), pass, stored("north")},
		"a user's label beside it stays (R149)":     {edit(func(mg *thing.Thing) { mg.Labels = map[string]string{"team": "a"} }), sets(true), pass, object("both", func(mg *thing.Thing) bool { return len(mg.Labels) == 2 })},
		"not without a report (R112)":               {zone, sets(false), pass, sees(ready), stored("")},
		"not where policies forbid it (R112, R152)": {allow("Observe", "Create", "Update", "Delete"), sets(true), pass, sees(ready), stored("")},
		"nor with an external name of its choice (R65)": {observed(func(mg *thing.Thing, o *observation) {
			o.ResourceLateInitialized = o.ResourceExists
			meta.SetExternalName(mg, "other")
		}), pass, object("its own name", func(mg *thing.Thing) bool { return meta.GetExternalName(mg) == mg.Name })},
	})
}

// A request for a pass is acknowledged in the status.
func TestHandledRequest(t *testing.T) {
	request := func(token string) act { return annotate(meta.AnnotationKeyReconcileRequestedAt, token) }
	handled := func(want string) act {
		return object("handled "+want, func(mg *thing.Thing) bool { return mg.Status.LastHandledReconcileAt == want })
	}
	play(t, scripts{
		"once, and each new one (N13)":         {pass, handled(""), request("1"), pass, handled("1"), nothingNew, restarted, nothingNew, request("2"), pass, handled("2")},
		"also by a pass that fails (R27)":      {pass, request("1"), refuse("Observe", errors.New("boom")), pass, handled("1")},
		"not while it is paused (R103)":        {pass, annotate(meta.AnnotationKeyReconciliationPaused, "true"), request("1"), pass, handled(""), annotate(meta.AnnotationKeyReconciliationPaused, ""), pass, handled("1")},
		"it stays when the request is removed": {pass, request("1"), pass, request(""), pass, handled("1")},
	})
}

// hooks are those of a provider: an initializer that labels the object, and a finalizer that counts.
type hooks struct {
	s      *stage
	called []string
	err    error
}

func (h *hooks) Initialize(ctx context.Context, mg resource.Managed) error {
	if h.err != nil || mg.GetLabels()["initialized"] != "" {
		return h.err
	}
	mg.SetLabels(map[string]string{"initialized": "yes"})
	mg.(*thing.Thing).Spec.ForProvider.Zone = new("north")
	return h.s.env.Client.Update(ctx, mg)
}

func (h *hooks) AddFinalizer(context.Context, resource.Managed) error {
	h.called = append(h.called, "add")
	return nil
}

func (h *hooks) RemoveFinalizer(_ context.Context, mg resource.Managed) error {
	h.called = append(h.called, fmt.Sprintf("remove with %d resources, ours: %t", len(h.s.system.Snapshot()), meta.FinalizerExists(mg, managed.Finalizer)))
	return h.err
}

func TestHooksOfProviders(t *testing.T) {
	play(t, scripts{
		"what an initializer writes is part of the pass (R42)": {func(s *stage) {
			s.play(with(managed.WithInitializers(&hooks{s: s})), pass, sees(ready), holds("the zone is sent", func(s *stage) bool { return s.has().Zone == "north" }),
				object("and stored with the label", func(mg *thing.Thing) bool {
					return mg.Labels["initialized"] == "yes" && *mg.Spec.ForProvider.Zone == "north"
				}), nothingNew)
		}},
		"its error is one of the provider (R27)": {func(s *stage) {
			h := &hooks{s: s, err: errors.New("no tags")}
			s.play(with(managed.WithInitializers(h)), pass, reports("no tags"), emitted(managed.ReasonCannotInitialize), resources(0), func(*stage) { h.err = nil }, pass, sees(ready))
		}},
		"a finalizer is asked once the external resource is gone, before ours is removed (R54)": {func(s *stage) {
			h := &hooks{s: s}
			s.play(with(managed.WithFinalizer(h)), pass, sees(ready), deleted, func(*stage) { h.err = errors.New("in use") }, pass, reports("in use"), resources(0),
				func(*stage) { h.err = nil }, pass, sees(gone))
			s.equal("calls", []string{"add", "remove with 0 resources, ours: true"}, slices.Compact(h.called))
		}},
	})
}
