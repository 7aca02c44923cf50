// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// References knows which objects of a process refer to which. See WithReferences.
type References = watch.References

// NewReferences returns what the reconcilers of one manager may share by WithReferences.
func NewReferences(mgr manager.Manager) *References { return watch.NewReferences(mgr) }

func (r *Reconciler) dependent(name types.NamespacedName) reference.Dependent {
	return reference.Dependent{Kind: r.kind, Name: name}
}

// resolve fills in what the object's fields refer to (R158 to R172). The values are stored with the next write to the object,
// at the latest before they are sent to the external system (R42, R165).
func (r *Reconciler) resolve(ctx context.Context, p *pass) outcome {
	resolver, refers := p.managed.(resource.ReferenceResolver)
	if !refers {
		return flow.Next()
	}
	var err error
	if p.planning {
		err = resolver.ResolveReferences(ctx, r.client)
	} else {
		err = r.references.Resolve(ctx, r.dependent(client.ObjectKeyFromObject(p.managed)), resolver, r.client)
		p.memory.resolved.Store(true)
	}
	if err != nil {
		err = fmt.Errorf("resolving references: %w", err)
		if (reference.IsUnresolved(err) || apimeta.IsNoMatchError(err)) && r.queue.Load() != nil {
			return rejected(ReasonCannotResolve, err) // the object that it refers to enqueues it, or the arrival of its kind
		}
		return failed(ReasonCannotResolve, err)
	}
	now, err := treeOf(p.managed)
	if err != nil {
		return failed(ReasonCannotResolve, err)
	}
	p.spec = now["spec"]
	return flow.Next()
}
