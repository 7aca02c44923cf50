// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// find finds the managed resource that the target names. Without it an existing copy stays as it is (R293).
func (r *Reconciler) find(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	kind, known := r.kindOf(ref)
	switch {
	case !known && r.refuses(ref):
		return flow.Refuse(xpv1.ReasonConnecting, "targets cannot connect to kind %s: create another target that names a "+
			"cluster-scoped managed resource; the Secrets of claims and of managed resources in your namespace are there already",
			ref.GroupVersionKind().GroupKind())
	case !known:
		return flow.Refuse(xpv1.ReasonConnecting, "there is no kind %s: create another target with the right apiVersion and "+
			"kind, or ask your platform team to install its provider", ref.GroupVersionKind().GroupKind())
	}
	if err := r.watchManaged(kind); err != nil {
		return fail("watching managed resources", err)
	}
	mg := r.newManaged(kind)
	err := r.client.Get(ctx, types.NamespacedName{Name: ref.Name}, mg)
	switch {
	case objects.IsAbsent(err):
		reason := xpv1.ReasonConnecting
		if meta.FinalizerExists(p.target, Finalizer) { // it was there
			reason = xpv1.ReasonResourceLost
		}
		return flow.RejectedAs(reason, &failure.Error{Reason: failure.WaitingForReferences, Message: fmt.Sprintf("managed "+
			"resource %s %q does not exist: create another target if the name is wrong, or ask your platform team to create the "+
			"managed resource", ref.Kind, ref.Name)})
	case err != nil:
		return fail("reading the managed resource", err)
	case ref.UID != "" && ref.UID != mg.GetUID():
		return flow.Refuse(xpv1.ReasonConnecting, "managed resource %s %q is not the one whose uid is in spec.clusterRef: "+
			"create another target, without uid, to connect to this one", ref.Kind, ref.Name)
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

// checkConsent checks that the managed resource allows the target's namespace (N27). Where it does not, or no longer, what the
// namespace has of it is removed.
func (r *Reconciler) checkConsent(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	if !connection.Allowed(p.managed, p.target.GetNamespace()) {
		withdrawn, err := r.copies.Withdraw(ctx, r.owner(p), p.managed, r.confirm(p, false))
		if err != nil {
			return fail("removing the connection Secret of the target", err)
		}
		if withdrawn {
			p.Note(ReasonWithdrawn, fmt.Sprintf("Removed the connection Secret of managed resource %s %q, which no longer allows this "+
				"namespace.", ref.Kind, ref.Name))
		}
		return flow.Refuse(xpv1.ReasonNotAllowed, "managed resource %s %q does not allow namespace %q to connect: create "+
			"another target, or ask your platform team to list the namespace in its annotation %s", ref.Kind, ref.Name,
			p.target.GetNamespace(), meta.AnnotationKeyAllowedNamespaces)
	}
	if meta.WasDeleted(p.managed) {
		return flow.Refuse(xpv1.ReasonConnecting, "managed resource %s %q is being deleted: delete the target, or wait if your "+
			"platform team is about to create the managed resource again", ref.Kind, ref.Name)
	}
	return flow.Next()
}

// confirm asks the API server whether the managed resource allows the namespace, or that it does not.
func (r *Reconciler) confirm(p *pass, allowed bool) func(context.Context) error {
	return func(ctx context.Context) error {
		kind, _ := r.kindOf(p.target.GetResourceReference())
		mg, err := r.readManaged(ctx, kind, p.managed.GetName())
		if err != nil {
			return err
		}
		if mg == nil || mg.GetUID() != p.managed.GetUID() || connection.Allowed(mg, p.target.GetNamespace()) != allowed {
			return apierrors.NewConflict(schema.GroupResource{}, p.managed.GetName(), errors.New("the cache is behind"))
		}
		return nil
	}
}

// readManaged returns a managed resource from the API server, nil if it does not exist.
func (r *Reconciler) readManaged(ctx context.Context, kind schema.GroupVersionKind, name string) (resource.BindableManaged, error) {
	mg := r.newManaged(kind)
	err := r.live.Get(ctx, types.NamespacedName{Name: name}, mg)
	if objects.IsAbsent(err) {
		return nil, nil
	}
	return mg, err
}

// checkSource checks that the managed resource has published connection details (R301). Messages do not name that Secret.
func (r *Reconciler) checkSource(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	if _, declared := resource.ConnectionSecretReference(p.managed); !declared {
		return flow.Refuse(xpv1.ReasonConnecting, "managed resource %s %q does not publish connection details: ask your "+
			"platform team to set its spec.writeConnectionSecretToRef", ref.Kind, ref.Name)
	}
	source, err := r.copies.Source(ctx, p.managed)
	if err != nil {
		return fail("reading the connection details of the managed resource", err)
	}
	if source == nil {
		return flow.RejectedAs(xpv1.ReasonConnecting, &failure.Error{Reason: failure.WaitingForReferences, Message: fmt.Sprintf("managed "+
			"resource %s %q has published no connection details yet: wait until it does; if it lasts, ask your platform team", ref.Kind,
			ref.Name)})
	}
	return flow.Next()
}

// prepare gives a target that names no Secret its own UID as the name, and adds the finalizer, in one write before anything is
// copied (K73).
func (r *Reconciler) prepare(ctx context.Context, p *pass) flow.Outcome {
	to := p.target.GetWriteConnectionSecretToReference()
	named := to != nil && to.Name != ""
	if named && meta.FinalizerExists(p.target, Finalizer) {
		return flow.Next()
	}
	target, err := objects.Patch(ctx, r.client, p.target, func(target resource.Target) {
		meta.AddFinalizer(target, Finalizer)
		if !named {
			target.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: string(target.GetUID())})
		}
	})
	if err == nil {
		p.target = target
	}
	return fail("naming the connection Secret of the target", err)
}

// copySecret requests the copy of an allowed target, and reports what keeps it from being created or complete (R297, R298, R302).
func (r *Reconciler) copySecret(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	secret, err := r.copies.Copy(ctx, r.owner(p), p.managed, r.confirm(p, true))
	switch {
	case copies.IsBlocked(err):
		r.log.V(1).Info("The target cannot have its Secret", "target", client.ObjectKeyFromObject(p.target), "cause", errors.Unwrap(err))
		if err := r.refused.AwaitSecret(err, p.target); err != nil {
			return fail("watching what keeps the target from its Secret", err)
		}
		return flow.RejectedAs(failure.ConnectionSecretUnavailable, err)
	case err != nil:
		return fail("writing the connection Secret of the target", err)
	}
	if secret.Created {
		p.Note(ReasonConnected, fmt.Sprintf("Created Secret %q with the connection details of managed resource %s %q.",
			p.target.GetWriteConnectionSecretToReference().Name, ref.Kind, ref.Name))
	}
	if secret.Problem != nil {
		return flow.RejectedAs(failure.Of(secret.Problem).Reason, secret.Problem)
	}
	if p.Remark = secret.Kept; p.Remark != "" {
		p.Warning = ReasonDetailsLost
	}
	return flow.Next()
}

func (r *Reconciler) owner(p *pass) copies.Owner { return copies.Target(p.target, r.targetKind) }

// awaitWorkloads keeps the Secret as long as applications have objects in the cluster, which could not be deleted without it. A resource
// looks at its target after it lists what it is about to create there, and this at the resources once the target is being deleted: so one
// of the two notices the other.
func (r *Reconciler) awaitWorkloads(ctx context.Context, p *pass) flow.Outcome {
	all := &workloadv1alpha1.KubernetesApplicationResourceList{}
	err := r.live.List(ctx, all, client.InNamespace(p.target.GetNamespace()))
	if objects.IsAbsent(err) || r.targetKind.GroupKind() != workloadv1alpha1.KubernetesTargetGroupVersionKind.GroupKind() {
		return flow.Next()
	}
	if err != nil {
		return fail("looking for applications that use the target", err)
	}
	var users []string
	for _, resource := range all.Items {
		if slices.ContainsFunc(resource.Status.Inventory, func(o workloadv1alpha1.RemoteObject) bool { return o.Target == p.target.GetName() }) {
			users = append(users, resource.Name)
		}
	}
	if len(users) == 0 {
		return flow.Next()
	}
	cause := failure.WaitingForDependents
	if kind, known := r.kindOf(p.target.GetResourceReference()); known {
		mg, err := r.readManaged(ctx, kind, p.target.GetResourceReference().Name)
		if err != nil {
			return fail("reading the managed resource", err)
		}
		if mg == nil { // which the resources have to know
			cause = failure.ExternalResourceLost
		}
	}
	return flow.AwaitFor(cause, workloadsPoll, fmt.Sprintf("Deletion waits: %d KubernetesApplicationResources have objects in the "+
		"cluster, such as %q. Delete their applications, or let them move: to another target that is ready and matches spec.targetSelector.",
		len(users), users[0]))
}

// workloadsPoll is how often a deleted target looks whether applications have left.
const workloadsPoll = 2 * time.Second

// deleteCopies deletes the copies of a deleted target, and revokes consent to all Secrets of the namespace, whatever controls them by
// now: no target may be left when consent is withdrawn. Claims and other targets watch the source, and get consent again.
func (r *Reconciler) deleteCopies(ctx context.Context, p *pass) flow.Outcome {
	ref := p.target.GetResourceReference()
	var mg resource.BindableManaged
	var err error
	if kind, known := r.kindOf(ref); known {
		mg, err = r.readManaged(ctx, kind, ref.Name)
	}
	if err != nil {
		return fail("reading the managed resource", err)
	}
	if mg != nil {
		if err := r.copies.Revoke(ctx, mg, p.target.GetNamespace()); err != nil {
			return fail("revoking consent to the connection Secret of the target", err)
		}
	}
	return fail("deleting the connection Secret of the target", r.copies.Discard(ctx, r.owner(p), mg))
}

// removeFinalizer lets the deletion of the target finish.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) flow.Outcome {
	_, err := objects.Patch(ctx, r.client, p.target, func(target resource.Target) { meta.RemoveFinalizer(target, Finalizer) })
	if client.IgnoreNotFound(err) != nil {
		return fail("removing the finalizer", err)
	}
	return flow.Vanished()
}
