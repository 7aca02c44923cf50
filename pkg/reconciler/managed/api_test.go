// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A shelf is a client and a connecter exactly as the contract writes them, without a Go type of its own.
type shelf struct {
	mu   sync.Mutex
	made map[types.UID]bool
	err  error // with which it connects
}

func newShelf() *shelf { return &shelf{made: map[types.UID]bool{}} }

// The names of the contract, used as the contract uses them: what changes here breaks every provider.
var (
	_ managed.ExternalConnecter = &shelf{}
	_ managed.ExternalClient    = &shelf{}
	_ reconcile.Reconciler      = &managed.Reconciler{}
	_ map[string][]byte         = managed.ConnectionDetails{}

	_ func(manager.Manager, resource.ManagedKind, ...managed.ReconcilerOption) *managed.Reconciler = managed.NewReconciler
	_ func(managed.ExternalConnecter) managed.ReconcilerOption                                     = managed.WithExternalConnecter
)

func (s *shelf) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return s, s.err
}

func (s *shelf) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if s.err != nil {
		panic("a client that came with an error is used (R20)")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	mg.SetConditions(xpv1.Available())
	return managed.ExternalObservation{
		ResourceExists:          s.made[mg.GetUID()],
		ResourceUpToDate:        true,
		ResourceLateInitialized: false,
		ConnectionDetails:       managed.ConnectionDetails{"username": []byte("admin")},
	}, nil
}

func (s *shelf) Create(_ context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[mg.GetUID()] = true
	return managed.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{"password": []byte("secret")}}, nil
}

func (s *shelf) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{ConnectionDetails: managed.ConnectionDetails{"port": []byte("5432")}}, nil
}

func (s *shelf) Delete(_ context.Context, mg resource.Managed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.made, mg.GetUID())
	return nil
}

type other struct{ thing.Thing }

type otherConnecter struct{}

func (otherConnecter) Connect(context.Context, *other) (managed.TypedExternalClient[*other], error) {
	return nil, errors.New("should not be reached")
}

func TestAPI(t *testing.T) {
	only := func(o ...managed.ReconcilerOption) act { return func(s *stage) { s.options = o } }
	everything := func(s *stage) {
		s.options = append(s.options,
			managed.WithClient(s.env.Client),
			managed.WithNewManaged(func() resource.Managed { return &thing.Thing{} }),
			managed.WithDefaultName(func(mg resource.Managed) string { return "by-option-" + mg.GetName() }),
			managed.WithTimeout(time.Minute),
			managed.WithPollInterval(time.Hour),
			managed.WithCreationGracePeriod(time.Minute),
			managed.WithConsistencyWindow(time.Minute),
			managed.WithSecretInputInterval(time.Minute),
			managed.WithManagementPolicies(true),
			managed.WithBackoff(time.Second, time.Minute),
			managed.WithLogger(logr.Discard()),
			managed.WithRandom(func() float64 { return 0.5 }))
	}
	play(t, scripts{
		"a client of the contract (A45, A50, A51, A52, A53, A54, A55, A56, A57, R48, R212)": {
			with(managed.WithExternalConnecter(newShelf())), pass, sees(ready),
			publishes(map[string]string{"username": "admin", "password": "secret"}), deleted, pass, sees(gone)},
		"every part but the connecter is optional (A58)": {func(s *stage) { s.options = s.options[1:2] }, pass, sees(ready)},
		"all parts together (A58)": {everything, pass, requeued(50*time.Minute, 70*time.Minute), emitted(managed.ReasonCreated),
			func(s *stage) { s.play(named("by-option-" + s.key.Name)) }},
		"a kind that the scheme does not know (A50)": {func(s *stage) {
			defer func() {
				if recover() == nil {
					s.t.Error("created a reconciler of a kind that is not registered")
				}
			}()
			managed.NewReconciler(s.manager(cache.Options{}),
				resource.ManagedKind(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Nothing"}))
		}},
		"without a connecter (A52)": {func(s *stage) { s.options = s.options[:1] }, pass, reports("without an external connecter"),
			emitted(managed.ReasonCannotConnect)},
		"a client that comes with an error is not used (R20)": {
			only(managed.WithExternalConnecter(&shelf{err: errors.New("no credentials")})), pass, reports("no credentials")},
		"a client of another type is refused (R29)": {only(managed.WithTypedExternalConnecter[*other](otherConnecter{})), pass,
			reports("managed resource is not a other")},
		"source, type, reason and count of events in the API server (R9, R85, R201, R202, R203, R204, R205)": {defaultEvents,
			vendorNames,
			createPending, pass, pauses["annotation"].pause, pass, pauses["annotation"].resume, pass,
			pauses["annotation"].pause, pass, pauses["annotation"].resume, pass, func(s *stage) {
				list, got := &corev1.EventList{}, map[string]string{}
				s.must(s.env.Client.List(s.t.Context(), list, client.MatchingFields{"involvedObject.name": s.key.Name}))
				for _, e := range list.Items {
					got[e.Reason] = fmt.Sprintf("%s from %s x%d", e.Type, e.Source.Component, e.Count)
				}
				s.equal("events", map[string]string{
					"CannotInitializeManagedResource": "Warning from managed/thing.test.bowline.dev x3",
					"ReconcilePaused":                 "Normal from managed/thing.test.bowline.dev x2",
				}, got)
			}},
	})
}
