// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// find finds the managed resource that the target names. What is not there leaves a copy that is there as it is, as package
// secret does (R293).
func (r *Reconciler) find(ctx context.Context, p *pass) outcome {
	ref := p.target.GetResourceReference()
	kind, known := r.kindOf(ref)
	if !known {
		return r.unknown(ref)
	}
	if err := r.watch(kind); err != nil {
		return fail(fmt.Errorf("watching managed resources: %w", err))
	}
	mg := r.newManaged(kind)
	err := r.client.Get(ctx, types.NamespacedName{Name: ref.Name}, mg)
	switch {
	case isUnserved(err):
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q does not exist: make another target if the name is wrong, "+
			"or ask your platform team to make it", ref.Kind, ref.Name))
	case err != nil:
		return fail(fmt.Errorf("reading the managed resource: %w", err))
	case ref.UID != "" && ref.UID != mg.GetUID():
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q is another one than that whose uid is in spec.clusterRef: "+
			"make another target, without uid, if you want to connect to this one", ref.Kind, ref.Name))
	}
	p.managed = mg
	return next()
}

// kindOf returns the managed kind that a reference names, in the version that this program has. It is not known if that is none
// of this program's, or one whose objects are in a namespace.
func (r *Reconciler) kindOf(ref *corev1.ObjectReference) (kind schema.GroupVersionKind, known bool) {
	if !r.managedKind.Empty() {
		return r.managedKind, true
	}
	for _, version := range r.scheme.VersionsForGroupKind(ref.GroupVersionKind().GroupKind()) {
		kind = version.WithKind(ref.Kind)
		o, err := r.scheme.New(kind)
		if _, is := o.(resource.BindableManaged); err == nil && is {
			return kind, true
		}
	}
	return kind, false
}

// unknown ends a pass over a target that names something of a kind that this program does not serve. What the API server serves
// and this program has never heard of may be looked after by another program.
func (r *Reconciler) unknown(ref *corev1.ObjectReference) outcome {
	kind := ref.GroupVersionKind().GroupKind()
	if len(r.scheme.VersionsForGroupKind(kind)) > 0 {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("a %s is not what targets can connect to: make another target that names a managed "+
			"resource which is in no namespace; the Secrets of claims, and of managed resources in your namespace, you have already", kind))
	}
	_, err := r.mapper.RESTMappings(kind)
	switch {
	case apimeta.IsNoMatchError(err):
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("there is no kind %s: make another target with the right apiVersion and kind, or ask "+
			"your platform team to install its provider", kind))
	case err != nil:
		return fail(fmt.Errorf("looking for the kind of the managed resource: %w", err))
	}
	return vanish()
}

// isUnserved is true for an error that says that the object, or its kind, is not there.
func isUnserved(err error) bool { return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// readManaged returns what the API server has in place of an object, nil if there is nothing any more.
func (r *Reconciler) readManaged(ctx context.Context, kind schema.GroupVersionKind,
	key client.ObjectKey) (resource.BindableManaged, error) {
	mg := r.newManaged(kind)
	err := r.live.Get(ctx, key, mg)
	if isUnserved(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the managed resource: %w", err)
	}
	return mg, nil
}
