// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// AnnotationKeyResource on an object in a cluster has the namespace and name of its KubernetesApplicationResource, for people.
const AnnotationKeyResource = "bowline.dev/application-resource"

// AnnotationKeyApplication on an object in a cluster has the UID of its application, whose resources may hand it over to each other.
const AnnotationKeyApplication = "bowline.dev/application"

// findTarget reads the target that the application chose.
func (r *Reconciler) findTarget(ctx context.Context, p *pass) flow.Outcome {
	ref := p.resource.Spec.TargetReference
	if ref == nil {
		return flow.AwaitAs(ReasonNoTarget, "The resource has no target: wait until its application has one, or, without an application, set spec.targetRef.")
	}
	target, err := r.targetOf(ctx, r.client, p.resource.Namespace, ref.Name)
	switch {
	case err != nil:
		return fail("reading the target", err)
	case target == nil:
		return flow.RejectedAs(ReasonTargetUnavailable, &failure.Error{Reason: failure.WaitingForReferences,
			Message: fmt.Sprintf("KubernetesTarget %q does not exist in this namespace: create it, or choose another one", ref.Name)})
	}
	p.target = target
	return flow.Next()
}

// targetOf returns a target, nil if it does not exist.
func (r *Reconciler) targetOf(ctx context.Context, from client.Reader, namespace, name string) (*workloadv1alpha1.KubernetesTarget, error) {
	target := &workloadv1alpha1.KubernetesTarget{}
	err := from.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, target)
	if objects.IsAbsent(err) {
		return nil, nil
	}
	return target, err
}

// connect gets the client of the target's cluster.
func (r *Reconciler) connect(ctx context.Context, p *pass) flow.Outcome {
	lease, err := r.lease(ctx, p, p.target)
	if err == nil {
		p.cluster = lease
		return flow.Next()
	}
	switch failure.Of(err).Reason {
	case failure.WaitingForReferences, failure.InvalidSettings:
		r.rest(p)
		return flow.RejectedAs(ReasonTargetUnavailable, err)
	}
	return flow.Failed(ReasonCannotApply, err)
}

// rest ends all watches for the resource, whose credentials may have been withdrawn.
func (r *Reconciler) rest(p *pass) {
	for cluster := range p.memory.subscribed {
		cluster.Keep(client.ObjectKeyFromObject(p.resource))
	}
	clear(p.memory.subscribed)
}

func (r *Reconciler) lease(ctx context.Context, p *pass, target *workloadv1alpha1.KubernetesTarget) (*clusters.Lease, error) {
	if known := p.leases[target.Name]; known != nil {
		return known, nil
	}
	lease, err := r.clusters.For(ctx, target)
	if err == nil {
		p.leases[target.Name] = lease
	}
	return lease, err
}

// readTemplate reads the object that is declared, without what only an API server sets.
func (r *Reconciler) readTemplate(_ context.Context, p *pass) flow.Outcome {
	o, err := read(p.resource)
	if err != nil {
		return flow.Refuse(ReasonInvalidTemplate, "spec.template is no object with apiVersion, kind and metadata.name")
	}
	p.desired = o
	return flow.Next()
}

func read(resource *workloadv1alpha1.KubernetesApplicationResource) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(resource.Spec.Template.Raw); err != nil {
		return nil, err
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
		"selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	delete(o.Object, "status")
	if o.GetName() == "" || o.GetKind() == "" {
		return nil, fmt.Errorf("a template without a name or kind: %s", objects.Shorten(o.GetName(), 64))
	}
	return o, nil
}

// checkBounds checks what the target allows.
func (r *Reconciler) checkBounds(_ context.Context, p *pass) flow.Outcome {
	allowed, namespaces := p.target.Spec.AllowedKinds, p.target.Spec.AllowedNamespaces
	kinds := []schema.GroupKind{p.desired.GroupVersionKind().GroupKind()}
	if len(p.resource.Spec.Secrets) > 0 {
		kinds = append(kinds, schema.GroupKind{Kind: "Secret"})
	}
	for _, kind := range kinds {
		if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(pattern string) bool { return permits(pattern, kind) }) {
			return flow.Refuse(ReasonNotAllowed, "KubernetesTarget %q does not allow objects of kind %s: its spec.allowedKinds has %s",
				p.target.Name, kind, objects.Shorten(strings.Join(allowed, ", "), 256))
		}
	}
	at := p.desired.GetNamespace()
	if at == "" {
		at = p.cluster.Namespace
	}
	if isNamespace(p.desired) {
		at = p.desired.GetName()
	}
	if len(namespaces) > 0 && !slices.Contains(namespaces, at) {
		return flow.Refuse(ReasonNotAllowed, "KubernetesTarget %q does not allow objects in namespace %q: its spec.allowedNamespaces has %s",
			p.target.Name, at, objects.Shorten(strings.Join(namespaces, ", "), 256))
	}
	return flow.Next()
}

// permits is true if a pattern, <Kind>, <Kind>.<group> or *.<group>, permits a kind.
func permits(pattern string, kind schema.GroupKind) bool {
	name, group, _ := strings.Cut(pattern, ".")
	return group == kind.Group && (name == kind.Kind || name == "*" && group != "")
}

func isNamespace(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// kindPoll is how often a cluster is asked again for a kind that it does not have.
const kindPoll = 30 * time.Second

// findObject finds out where the object is in the cluster's API.
func (r *Reconciler) findObject(ctx context.Context, p *pass) flow.Outcome {
	kind := p.desired.GroupVersionKind()
	found, err := p.cluster.Find(kind, p.desired.GetNamespace(), p.desired.GetName())
	switch {
	case apimeta.IsNoMatchError(err):
		message := fmt.Sprintf("the cluster has no kind %s in version %s: correct apiVersion and kind, or install it there", kind.GroupKind(), kind.Version)
		err = failure.ForTeam(failure.InvalidSettings, message, err)
		if defining, listErr := r.siblings(ctx, p, indexDefines+"kind/"+kind.GroupKind().String()); listErr == nil && len(defining) > 0 { // it will be there soon
			return flow.Failed(event.Reason(ReasonKindMissing), err)
		}
		o := flow.RejectedAs(ReasonKindMissing, err)
		o.After = kindPoll
		return o
	case err != nil:
		return r.failRemote(p, err)
	case found.Namespace == "" && len(p.target.Spec.AllowedNamespaces) > 0 && !isNamespace(p.desired):
		return flow.Refuse(ReasonNotAllowed, "KubernetesTarget %q allows objects in some namespaces only, and objects of kind %s have none",
			p.target.Name, kind.GroupKind())
	case found.Namespace == "" && len(p.resource.Spec.Secrets) > 0:
		return flow.Refuse(ReasonInvalidTemplate, "spec.secrets are copied to the namespace of the object, and objects of kind %s have none: name them "+
			"beside another template", kind.GroupKind())
	}
	p.desired.SetNamespace(found.Namespace)
	p.desired.SetLabels(objects.Union(p.desired.GetLabels(), map[string]string{clusters.LabelKeyWorkload: string(p.resource.UID)}))
	marks := map[string]string{AnnotationKeyResource: p.resource.Namespace + "/" + p.resource.Name}
	if owner := metav1.GetControllerOf(p.resource); owner != nil {
		marks[AnnotationKeyApplication] = string(owner.UID)
	}
	p.desired.SetAnnotations(objects.Union(p.desired.GetAnnotations(), marks))
	p.object = found
	return flow.Next()
}

// watchObject has changes of the object wake the resource, from before it is observed.
func (r *Reconciler) watchObject(_ context.Context, p *pass) flow.Outcome {
	p.subscribe(p.cluster, p.object)
	return flow.Next()
}

// readSecrets reads the Secrets that are to be copied.
func (r *Reconciler) readSecrets(ctx context.Context, p *pass) flow.Outcome {
	for _, ref := range p.resource.Spec.Secrets {
		secret, err := r.secrets.Get(ctx, types.NamespacedName{Namespace: p.resource.Namespace, Name: ref.Name})
		switch {
		case objects.IsAbsent(err):
			return flow.RejectedAs(ReasonSecretUnavailable, &failure.Error{Reason: failure.WaitingForReferences,
				Message: fmt.Sprintf("Secret %q of spec.secrets does not exist in this namespace: it is copied once it does", ref.Name)})
		case err != nil:
			return fail("reading the Secrets to copy", err)
		case meta.WasDeleted(secret):
			continue // the copy stays until the Secret is gone, and the next one may come
		}
		p.secrets = append(p.secrets, secret)
	}
	return flow.Next()
}
