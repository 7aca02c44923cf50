// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	// minLag is how long an interrupted call may still be in progress at the vendor, even if its reads are consistent.
	minLag = 5 * time.Second

	defaultAwaitTimeout = 20 * time.Minute
)

// An Object is a managed resource with the given parameters and observation. The generator writes both methods.
type Object[P, O any] interface {
	resource.Managed
	// Parameters returns spec.forProvider, to read and to change.
	Parameters() *P
	// Observation returns status.atProvider, to read and to change.
	Observation() *O
}

// Serve returns the kind as rows of a provider: one for each of the given empty objects, which are those of its scopes.
// Provider.Validate reports the mistakes in it.
func Serve[C, P, O, V any](s System[C], k Kind[C, P, O, V], objects ...Object[P, O]) []provider.Kind {
	compiled, err := compile(s, k)
	rows := make([]provider.Kind, 0, len(objects))
	for _, empty := range objects {
		row := provider.Kind{Object: empty, Err: err}
		if err == nil {
			row.Options = compiled.options()
			row.Connecter = func(setup *provider.Setup) managed.ExternalConnecter {
				gvk, _ := apiutil.GVKForObject(empty, setup.Manager().GetScheme()) // Provider.Validate found it there
				return connecter[C, P, O, V]{compiled: compiled, kind: gvk.GroupKind(), lease: leaseFrom(s.Clients.In(setup.Clients()))}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// NewConnecter returns a connecter whose external clients all use one client of the external system, and the options of the
// reconciler. It is for tests of a kind; the System needs no Clients.
func NewConnecter[C, P, O, V any](s System[C], k Kind[C, P, O, V], of schema.GroupKind, client C) (
	managed.ExternalConnecter, []managed.ReconcilerOption, error) {
	compiled, err := compile(s, k)
	if err != nil {
		return nil, nil, err
	}
	fixed := func(context.Context, resource.Managed) (lease[C], error) {
		return lease[C]{client: client, release: func() {}}, nil
	}
	return connecter[C, P, O, V]{compiled: compiled, kind: of, lease: fixed}, compiled.options(), nil
}

// A lease is a client of the external system for one pass.
type lease[C any] struct {
	client  C
	poll    time.Duration
	secrets [][]byte
	release func()
}

// leaseFrom returns a function that leases the client of an object's provider configuration.
func leaseFrom[C any](pool *clients.Pool[C]) func(context.Context, resource.Managed) (lease[C], error) {
	return func(ctx context.Context, mg resource.Managed) (lease[C], error) {
		l, err := pool.For(ctx, mg)
		if err != nil {
			return lease[C]{}, err
		}
		return lease[C]{client: l.Client, poll: l.PollInterval(), secrets: l.SecretValues(), release: l.Release}, nil
	}
}

func (k *compiled[C, P, O, V]) options() []managed.ReconcilerOption {
	lag := max(k.Lag, minLag)
	o := []managed.ReconcilerOption{
		managed.WithCreationGracePeriod(lag),
		managed.WithConsistencyWindow(lag),
		managed.WithParameters(k.rules),
	}
	if k.ID != nil {
		o = append(o, managed.WithVendorNames())
	}
	if k.Name != nil {
		o = append(o, managed.WithDefaultName(k.defaultName))
	}
	if k.Await != nil {
		timeout := k.AwaitTimeout
		if timeout == 0 {
			timeout = defaultAwaitTimeout
		}
		o = append(o, managed.WithBackgroundOperations(timeout))
	}
	return append(o, k.Options...)
}

// defaultName is metadata.name for an object that does not convert; Create reports that.
func (k *compiled[C, P, O, V]) defaultName(mg resource.Managed) string {
	_, copied, err := k.object(mg)
	if err != nil {
		return mg.GetName()
	}
	d, err := declare(copied)
	if err != nil {
		return mg.GetName()
	}
	return k.Name(copied, &d.merged)
}

// object returns the managed resource as one of the kind, and a copy for the author's functions.
func (k *compiled[C, P, O, V]) object(mg resource.Managed) (of, copied Object[P, O], err error) {
	of, ok := mg.(Object[P, O])
	if ok {
		copied, ok = mg.DeepCopyObject().(Object[P, O])
	}
	if !ok {
		return nil, nil, fmt.Errorf("a %T, or its copy, has no parameters of type %T", mg, *new(P))
	}
	return of, copied, nil
}

// A connecter makes external clients of one kind in one scope.
type connecter[C, P, O, V any] struct {
	compiled *compiled[C, P, O, V]
	kind     schema.GroupKind
	lease    func(context.Context, resource.Managed) (lease[C], error)
}

func (c connecter[C, P, O, V]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	lease, err := c.lease(ctx, mg)
	if err != nil {
		return nil, err
	}
	base := &client[C, P, O, V]{compiled: c.compiled, kind: c.kind, lease: lease}
	var external managed.ExternalClient = base
	if c.compiled.Find != nil {
		external = finder[C, P, O, V]{external, base}
	}
	if len(c.compiled.rules.Generated) > 0 {
		external = credentialChooser[C, P, O, V]{external, base}
	}
	return external, nil
}
