// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// checkClass reads the class of a claim that has no managed resource yet, and checks that the claim's namespace may use it (R257,
// R276). Later changes of a class do not affect claims that have their managed resource (R277).
func (r *Reconciler) checkClass(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil {
		return flow.Next()
	}
	name := p.claim.GetClassReference().Name
	r.waitFor(p, topicClass, name)
	class := r.newClass()
	if err := r.client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		if apierrors.IsNotFound(err) {
			return refuse(xpv1.ReasonClassNotFound, fmt.Errorf("class %s %q does not exist: correct spec.classRef, or ask your platform "+
				"team for the class; kubectl get classes lists those that exist", r.classKind.Kind, name))
		}
		return fail("reading the class", err)
	}
	if meta.WasDeleted(class) {
		return refuse(xpv1.ReasonClassNotFound, fmt.Errorf("class %s %q is being deleted: delete the claim and create one that uses "+
			"another class; kubectl get classes lists those that exist", r.classKind.Kind, name))
	}
	selector := labels.Everything()
	if of := class.GetClaimLimits().NamespaceSelector; of != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(of); err != nil {
			return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("class %q: ask your platform team to correct "+
				"specTemplate.claims.namespaceSelector: %w", name, err))
		}
	}
	allowed, err := r.allowed(ctx, selector, p.claim.GetNamespace())
	if err != nil {
		return fail("reading the labels of the claim's namespace", err)
	}
	if !allowed {
		return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("class %q does not allow claims of namespace %q: use another one, or ask your "+
			"platform team to allow it", name, p.claim.GetNamespace()))
	}
	p.class = class
	return flow.Next()
}

// allowed is true if the labels of the namespace match. The API server is asked, since something is created because of them.
func (r *Reconciler) allowed(ctx context.Context, s labels.Selector, namespace string) (bool, error) {
	if s.Empty() {
		return true, nil
	}
	ns := objects.Metadata(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.live.Get(ctx, types.NamespacedName{Name: namespace}, ns); err != nil {
		return false, err
	}
	return s.Matches(labels.Set(ns.Labels)), nil
}
