// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
)

// mostNamed is how many resources a message names.
const mostNamed = 3

// readResources reads the resources that the application has.
func (r *Reconciler) readResources(ctx context.Context, p *pass) flow.Outcome {
	all := &workloadv1alpha1.KubernetesApplicationResourceList{}
	options := []client.ListOption{client.InNamespace(p.app.Namespace), client.UnsafeDisableDeepCopy}
	if r.isCached {
		options = append(options, client.MatchingFields{indexOwner: string(p.app.UID)})
	}
	err := r.client.List(ctx, all, options...)
	p.add(all)
	slices.SortFunc(p.resources, func(a, b *workloadv1alpha1.KubernetesApplicationResource) int { return strings.Compare(a.Name, b.Name) })
	return fail("reading the resources of the application", err)
}

// add adds those of some resources that are the application's.
func (p *pass) add(some *workloadv1alpha1.KubernetesApplicationResourceList) {
	for i := range some.Items {
		if metav1.IsControlledBy(&some.Items[i], p.app) {
			p.resources = append(p.resources, &some.Items[i])
		}
	}
}

// wanted returns the templates by the names of their resources.
func (p *pass) wanted() map[string]workloadv1alpha1.KubernetesApplicationResourceTemplate {
	all := map[string]workloadv1alpha1.KubernetesApplicationResourceTemplate{}
	for _, t := range p.app.Spec.ResourceTemplates {
		all[t.Metadata.Name] = t
	}
	return all
}

// checkTemplates checks the labels of the templates, before anything is written.
func (r *Reconciler) checkTemplates(_ context.Context, p *pass) flow.Outcome {
	if p.app.Spec.ResourceSelector == nil {
		return flow.Next()
	}
	selector, err := metav1.LabelSelectorAsSelector(p.app.Spec.ResourceSelector)
	if err != nil {
		return flow.Refuse(ReasonInvalidTemplates, "spec.resourceSelector is invalid: %s", objects.Shorten(err.Error(), 256))
	}
	for _, t := range p.app.Spec.ResourceTemplates {
		if !selector.Matches(labels.Set(t.Metadata.Labels)) {
			return flow.Refuse(ReasonInvalidTemplates, "template %q lacks the labels that spec.resourceSelector asks for (%s): add them to its metadata.labels",
				t.Metadata.Name, objects.Shorten(selector.String(), 256))
		}
	}
	return flow.Next()
}

// writeResources creates the resources that are missing, and changes those that differ from their templates.
func (r *Reconciler) writeResources(ctx context.Context, p *pass) flow.Outcome {
	existing, refused := map[string]int{}, flow.Next()
	for i, resource := range p.resources {
		existing[resource.Name] = i
	}
	for _, t := range p.app.Spec.ResourceTemplates {
		i, exists := existing[t.Metadata.Name]
		if !exists {
			switch o := r.create(ctx, p, t); o.End {
			case flow.Continue:
			case flow.Reject: // no reason to leave out the others
				refused = o
			default:
				return o
			}
			continue
		}
		was := p.resources[i]
		if meta.WasDeleted(was) || isAsDeclared(was, t, p.app) {
			continue
		}
		changed, err := objects.Patch(ctx, r.client, was, func(o *workloadv1alpha1.KubernetesApplicationResource) { declare(o, t, p.app) })
		if err != nil {
			return fail(fmt.Sprintf("changing KubernetesApplicationResource %q", was.Name), err)
		}
		p.resources[i] = changed
	}
	return refused
}

// create creates a resource with its finalizer, so that the first pass over it has nothing more to write before its inventory.
func (r *Reconciler) create(ctx context.Context, p *pass, t workloadv1alpha1.KubernetesApplicationResourceTemplate) flow.Outcome {
	resource := &workloadv1alpha1.KubernetesApplicationResource{ObjectMeta: metav1.ObjectMeta{Namespace: p.app.Namespace, Name: t.Metadata.Name,
		Finalizers:      []string{applicationresource.Finalizer},
		OwnerReferences: []metav1.OwnerReference{meta.AsController(p.app, workloadv1alpha1.KubernetesApplicationGroupVersionKind)}}}
	declare(resource, t, p.app)
	err := r.client.Create(ctx, resource)
	if !apierrors.IsAlreadyExists(err) {
		return fail(fmt.Sprintf("creating KubernetesApplicationResource %q", resource.Name), err)
	}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(resource), resource); err != nil {
		return fail("reading a resource of its name", client.IgnoreNotFound(err))
	}
	if metav1.IsControlledBy(resource, p.app) { // the cache was behind
		return flow.Conflicted()
	}
	return flow.Refuse(ReasonResourceTaken, "KubernetesApplicationResource %q exists and does not belong to this application: give the template another name, or "+
		"delete that resource", resource.Name)
}

// AnnotationKeyDeclared on a resource lists the labels and annotations that its template has, as JSON, so that those are removed which it no
// longer has. All others stay.
const AnnotationKeyDeclared = "bowline.dev/declared-metadata"

type declaredMetadata struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
}

// declare sets what a template determines.
func declare(o *workloadv1alpha1.KubernetesApplicationResource, t workloadv1alpha1.KubernetesApplicationResourceTemplate, app *workloadv1alpha1.KubernetesApplication) {
	former := declaredMetadata{}
	_ = json.Unmarshal([]byte(o.Annotations[AnnotationKeyDeclared]), &former) // nothing was declared before
	without := func(all map[string]string, keys []string) map[string]string {
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key, _ string) bool { return slices.Contains(keys, key) })
		return all
	}
	now := declaredMetadata{slices.Sorted(maps.Keys(t.Metadata.Labels)), slices.Sorted(maps.Keys(t.Metadata.Annotations))}
	o.Labels = objects.Union(without(o.Labels, former.Labels), t.Metadata.Labels)
	o.Annotations = objects.Union(without(o.Annotations, append(former.Annotations, AnnotationKeyDeclared)), t.Metadata.Annotations)
	if text, err := json.Marshal(now); err == nil && string(text) != "{}" {
		o.Annotations[AnnotationKeyDeclared] = string(text)
	}
	o.Spec.KubernetesApplicationResourceTemplateSpec = *t.Spec.DeepCopy()
	o.Spec.TargetReference = app.Spec.TargetReference.DeepCopy()
}

func isAsDeclared(o *workloadv1alpha1.KubernetesApplicationResource, t workloadv1alpha1.KubernetesApplicationResourceTemplate, app *workloadv1alpha1.KubernetesApplication) bool {
	declared := o.DeepCopy()
	declare(declared, t, app)
	return equality.Semantic.DeepEqual(declared.Spec, o.Spec) && len(declared.Labels) == len(o.Labels) && len(declared.Annotations) == len(o.Annotations) &&
		equality.Semantic.DeepEqual(declared.Labels, objects.Union(o.Labels)) && equality.Semantic.DeepEqual(declared.Annotations, objects.Union(o.Annotations))
}

// pruneResources deletes the resources whose templates were removed.
func (r *Reconciler) pruneResources(ctx context.Context, p *pass) flow.Outcome {
	wanted := p.wanted()
	return r.delete(ctx, p, func(o *workloadv1alpha1.KubernetesApplicationResource) bool {
		_, is := wanted[o.Name]
		return !is
	})
}

// deleteResources deletes all resources of a deleted application, and waits until they are gone.
func (r *Reconciler) deleteResources(ctx context.Context, p *pass) flow.Outcome {
	if len(p.resources) == 0 { // the cache may be behind
		all := &workloadv1alpha1.KubernetesApplicationResourceList{}
		if err := r.live.List(ctx, all, client.InNamespace(p.app.Namespace)); err != nil {
			return fail("reading the resources of the application", err)
		}
		p.add(all)
	}
	if o := r.delete(ctx, p, func(*workloadv1alpha1.KubernetesApplicationResource) bool { return true }); o.End != flow.Continue || len(p.resources) == 0 {
		return o
	}
	return flow.AwaitAs(ReasonSubmitting, "Deletion waits for %d objects in the cluster, such as that of KubernetesApplicationResource %q.", len(p.resources), p.resources[0].Name)
}

func (r *Reconciler) delete(ctx context.Context, p *pass, which func(*workloadv1alpha1.KubernetesApplicationResource) bool) flow.Outcome {
	for _, o := range p.resources {
		if meta.WasDeleted(o) || !which(o) {
			continue
		}
		err := r.client.Delete(ctx, o, client.Preconditions{UID: &o.UID})
		if client.IgnoreNotFound(err) != nil {
			return fail(fmt.Sprintf("deleting KubernetesApplicationResource %q", o.Name), err)
		}
	}
	return flow.Next()
}

// checkResources reports what is not ready.
func (r *Reconciler) checkResources(_ context.Context, p *pass) flow.Outcome {
	var waiting, failed []string
	wanted := p.wanted()
	for _, o := range p.resources {
		ready := o.GetCondition(xpv1.TypeReady)
		_, is := wanted[o.Name]
		switch current := ready.ObservedGeneration == o.Generation; {
		case is && current && ready.Status == corev1.ConditionTrue:
			delete(wanted, o.Name)
		case !is: // about to be deleted
			waiting = append(waiting, o.Name+" (being deleted)")
		case o.Status.State == workloadv1alpha1.ResourceFailed:
			failed = append(failed, fmt.Sprintf("%s (%s)", o.Name, ready.Reason))
		default:
			waiting = append(waiting, fmt.Sprintf("%s (%s)", o.Name, ready.Reason))
		}
	}
	switch {
	case len(failed) > 0:
		return flow.Refuse(ReasonResourcesNotReady, "%d of %d objects cannot be applied, or failed: %s. See kubectl describe kubernetesapplicationresource", len(failed),
			len(p.app.Spec.ResourceTemplates), some(failed))
	case len(wanted) > 0 || len(waiting) > 0:
		return flow.AwaitAs(ReasonSubmitting, "%d of %d objects are ready. It waits for %s.", len(p.app.Spec.ResourceTemplates)-len(wanted),
			len(p.app.Spec.ResourceTemplates), some(waiting))
	}
	return flow.Next()
}

func some(names []string) string {
	switch {
	case len(names) == 0:
		return "resources that were just created"
	case len(names) <= mostNamed:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}
