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
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	// underWay is how long a call that was cut off may still be working at the vendor's, however current its answers are.
	underWay = 5 * time.Second

	defaultAwaitTimeout = 20 * time.Minute
)

// An Object is a managed resource of a kind that is a service. The generator writes both methods.
type Object[P, O any] interface {
	resource.Managed
	// Parameters returns spec.forProvider, to read and to change.
	Parameters() *P
	// Observation returns status.atProvider, to read and to change.
	Observation() *O
}

// Serve returns the kind as rows of a provider: one for each of the given empty objects, which are those of its scopes. What
// is wrong with it Provider.Validate tells.
func Serve[C, P, O, V any](s System[C], k Kind[C, P, O, V], objects ...Object[P, O]) []provider.Kind {
	sv, err := compile(s, k)
	rows := make([]provider.Kind, 0, len(objects))
	for _, empty := range objects {
		row := provider.Kind{Object: empty, Err: err}
		if err == nil {
			row.Options = sv.options()
			row.Connecter = func(setup *provider.Setup) managed.ExternalConnecter {
				gvk, _ := apiutil.GVKForObject(empty, setup.Manager().GetScheme()) // the provider's check found it there
				return connecter[C, P, O, V]{served: sv, kind: gvk.GroupKind(), lease: leased(s.Clients.In(setup.Clients()))}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// NewConnecter returns what makes the external clients of a kind, all with one client of the external system, and the
// options of a reconciler that uses it. It is for tests of a kind; the System need not have Clients.
func NewConnecter[C, P, O, V any](s System[C], k Kind[C, P, O, V], of schema.GroupKind, client C) (
	managed.ExternalConnecter, []managed.ReconcilerOption, error) {
	sv, err := compile(s, k)
	if err != nil {
		return nil, nil, err
	}
	always := func(context.Context, resource.Managed) (lease[C], error) {
		return lease[C]{client: client, release: func() {}}, nil
	}
	return connecter[C, P, O, V]{served: sv, kind: of, lease: always}, sv.options(), nil
}

// A lease is a client of the external system for one pass.
type lease[C any] struct {
	client  C
	poll    time.Duration
	secrets [][]byte
	release func()
}

// leased returns a lease of the client that the object's provider configuration describes.
func leased[C any](from *clients.Pool[C]) func(context.Context, resource.Managed) (lease[C], error) {
	return func(ctx context.Context, mg resource.Managed) (lease[C], error) {
		l, err := from.For(ctx, mg)
		if err != nil {
			return lease[C]{}, err
		}
		return lease[C]{client: l.Client, poll: l.PollInterval(), secrets: l.SecretValues(), release: l.Release}, nil
	}
}

// options are what the reconciler has to know of the kind.
func (s *served[C, P, O, V]) options() []managed.ReconcilerOption {
	lag := max(s.Lag, underWay)
	o := []managed.ReconcilerOption{
		managed.WithCreationGracePeriod(lag),
		managed.WithConsistencyWindow(lag),
		managed.WithParameters(s.rules.Options()...),
	}
	if s.ID != nil {
		o = append(o, managed.WithVendorNames())
	}
	if s.Name != nil {
		o = append(o, managed.WithDefaultName(func(mg resource.Managed) string {
			_, copied, err := s.object(mg)
			if err != nil {
				return mg.GetName()
			}
			d, err := declare(copied)
			if err != nil {
				return mg.GetName() // Create says so
			}
			return s.Name(copied, &d.whole)
		}))
	}
	if s.Await != nil {
		timeout := s.AwaitTimeout
		if timeout == 0 {
			timeout = defaultAwaitTimeout
		}
		o = append(o, managed.WithBackgroundOperations(timeout))
	}
	return append(o, s.Options...)
}

// A connecter makes external clients of one kind in one scope.
type connecter[C, P, O, V any] struct {
	served *served[C, P, O, V]
	kind   schema.GroupKind
	lease  func(context.Context, resource.Managed) (lease[C], error)
}

func (c connecter[C, P, O, V]) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	lease, err := c.lease(ctx, mg)
	if err != nil {
		return nil, err
	}
	base := &client[C, P, O, V]{served: c.served, kind: c.kind, lease: lease}
	var external managed.ExternalClient = base
	if c.served.Find != nil {
		external = finding[C, P, O, V]{external, base}
	}
	if len(c.served.rules.Generated) > 0 {
		external = choosing[C, P, O, V]{external, base}
	}
	return external, nil
}

// object returns the managed resource as one of the kind, and a copy for the author's functions. To copy costs less than
// to lay out the parameters for a look, which every call does too.
func (s *served[C, P, O, V]) object(mg resource.Managed) (of, copied Object[P, O], err error) {
	of, ok := mg.(Object[P, O])
	if ok {
		copied, ok = mg.DeepCopyObject().(Object[P, O])
	}
	if !ok {
		return nil, nil, fmt.Errorf("a %T, or its copy, has no parameters of type %T", mg, *new(P))
	}
	return of, copied, nil
}

// fieldRules are the rules of a parameters type, if it has any.
func fieldRules[P any]() parameters.Rules {
	if ruled, ok := any(new(P)).(interface{ FieldRules() parameters.Rules }); ok {
		return ruled.FieldRules()
	}
	return parameters.Rules{}
}
