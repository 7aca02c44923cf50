// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/kinds"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// of returns the reconciler for managed resources of one of the kinds.
func (r *Reconciler) of(kind schema.GroupVersionKind) *Reconciler {
	by := *r
	by.managedKind = kind
	return &by
}

// each returns the reconcilers for the kind, or for all that are watched where it is not known.
func (r *Reconciler) each() []*Reconciler {
	if r.kinds == nil || !r.managedKind.Empty() {
		return []*Reconciler{r}
	}
	var all []*Reconciler
	for _, kind := range r.kinds.Opened() {
		all = append(all, r.of(kind))
	}
	return all
}

// forClaim returns the reconciler for the kind of the managed resource that a claim names, or else its class. The kind is empty if that
// class does not exist.
func (r *Reconciler) forClaim(ctx context.Context, claim resource.Claim) *Reconciler {
	if r.kinds == nil {
		return r
	}
	if ref := claim.GetResourceReference(); ref != nil {
		kind, _ := r.kinds.Kind(ref.GroupVersionKind().GroupKind())
		return r.of(kind)
	}
	class, ok := r.newClass().(resource.KindedClass)
	if !ok || r.client.Get(ctx, types.NamespacedName{Name: claim.GetClassReference().Name}, class) != nil {
		return r.of(schema.GroupVersionKind{})
	}
	return r.of(class.GetManagedKind())
}

// provides is true for a reference to a managed resource of a kind of this controller.
func (r *Reconciler) provides(ref *corev1.ObjectReference) bool {
	if r.kinds == nil {
		return objects.IsOf(ref, r.managedKind)
	}
	if ref == nil {
		return false
	}
	_, known := r.kinds.Kind(ref.GroupVersionKind().GroupKind())
	return known
}

// openKindOf watches the managed resources of a class, so that what a claim that is gone left of them is reclaimed, too.
func (r *Reconciler) openKindOf(ctx context.Context, name string) error {
	class, ok := r.newClass().(resource.KindedClass)
	if err := r.client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil || !ok || class.GetClaimKind() != r.claimKind.Kind {
		return client.IgnoreNotFound(err)
	}
	return resource.Ignore(objects.IsAbsent, r.of(class.GetManagedKind()).open(ctx)) // the object that defines it will wake us
}

func (r *Reconciler) open(ctx context.Context) error {
	return r.kinds.Open(ctx, r.managedKind, unstructured.Plain(r.newManaged()), kinds.Index{In: r.indexer, Name: r.claimIndex(), Values: r.indexClaim},
		r.watches, r.managedChanged())
}

// checkKind begins to watch a kind without a Go type with the first claim of it, and waits while it has no definition.
func (r *Reconciler) checkKind(ctx context.Context, p *pass) flow.Outcome {
	if r.kinds == nil {
		return flow.Next()
	}
	if r.managedKind.Empty() { // the class does not exist
		if o := r.checkClass(ctx, p); o.End != flow.Continue {
			return o
		}
		return flow.AwaitAs(xpv1.ReasonBinding, "Class %q was just created.", p.class.GetName())
	}
	err := r.open(ctx)
	if objects.IsAbsent(err) {
		return r.awaitServed(ctx, p)
	}
	return fail("watching the managed resources", err)
}

// checkServed waits while nothing would create external resources of a kind without a Go type.
func (r *Reconciler) checkServed(ctx context.Context, p *pass) flow.Outcome {
	if r.kinds == nil || p.managed != nil || r.kinds.Check(ctx, r.client, r.managedKind.GroupKind()) == nil {
		return flow.Next()
	}
	return r.awaitServed(ctx, p)
}

// awaitServed reports to the team that a kind is not served. The cause is in the conditions of the class.
func (r *Reconciler) awaitServed(ctx context.Context, p *pass) flow.Outcome {
	if p.claim.GetResourceReference() != nil {
		return flow.AwaitAs(xpv1.ReasonBinding, "Managed resources of kind %s, which spec.resourceRef names, are not served. Ask your platform team "+
			"to have a provider serve them; binding resumes automatically.", r.managedKind.GroupKind())
	}
	if o := r.checkClass(ctx, p); o.End != flow.Continue {
		return o
	}
	return flow.AwaitAs(xpv1.ReasonBinding, "Class %q provides managed resources of kind %s, which are not served. Ask your platform team: condition "+
		"Ready of the class has the cause. Binding resumes automatically.", p.class.GetName(), r.managedKind.GroupKind())
}

// defined enqueues the classes and the claims of the kinds that an object defines.
func (r *Reconciler) defined(ctx context.Context, definer client.Object) []reconcile.Request {
	group := r.kinds.Group(definer)
	requests := r.needing.On(ctx, schema.GroupKind{Group: group}, "")
	classes, err := objects.List[resource.KindedClass](ctx, r.client, r.scheme, r.classKind, client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot list classes", "kind", r.classKind.GroupKind().String())
	}
	for _, class := range classes {
		if class.GetManagedKind().Group == group {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(class)})
			requests = append(requests, r.needing.On(ctx, r.classKind.GroupKind(), class.GetName())...)
		}
	}
	return requests
}
