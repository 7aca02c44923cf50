// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// find finds the managed resource that the target names. Without it an existing copy stays as it is (R293).
func (r *Reconciler) find(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	kind, known := r.kindOf(ref)
	if !known {
		return r.unknown(ref)
	}
	if err := r.watchManaged(kind); err != nil {
		return fail("watching managed resources", err)
	}
	mg := r.newManaged(kind)
	err := r.client.Get(ctx, types.NamespacedName{Name: ref.Name}, mg)
	switch {
	case objects.IsAbsent(err):
		return refuse(xpv1.ReasonConnecting, failure.With(failure.WaitingForReferences, fmt.Errorf("managed resource %s %q does not exist: "+
			"create another target if the name is wrong, or ask your platform team to create the managed resource", ref.Kind, ref.Name)))
	case err != nil:
		return fail("reading the managed resource", err)
	case ref.UID != "" && ref.UID != mg.GetUID():
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q is not the one whose uid is in spec.clusterRef: create "+
			"another target, without uid, to connect to this one", ref.Kind, ref.Name))
	}
	p.managed = mg
	return flow.Next()
}

// kindOf returns the managed kind that a reference names, in the version of the scheme. It is not known if the scheme lacks it, or if
// its objects are namespaced.
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

// unknown ends a pass over a target that names an object of a kind that this process does not serve. Where the API server serves it
// and the scheme lacks it, another process may.
func (r *Reconciler) unknown(ref *corev1.ObjectReference) flow.Outcome {
	kind := ref.GroupVersionKind().GroupKind()
	if len(r.scheme.VersionsForGroupKind(kind)) > 0 {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("targets cannot connect to kind %s: create another target that names a cluster-scoped "+
			"managed resource; the Secrets of claims and of managed resources in your namespace are there already", kind))
	}
	_, err := r.mapper.RESTMappings(kind)
	switch {
	case apimeta.IsNoMatchError(err):
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("there is no kind %s: create another target with the right apiVersion and kind, or ask "+
			"your platform team to install its provider", kind))
	case err != nil:
		return fail("looking for the kind of the managed resource", err)
	}
	return flow.Vanished()
}
