// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// checkClass reads the class of a claim that has no managed resource yet (R257, R276), and sees that it is for the claim's
// namespace. Later changes of a class are nothing to claims that have theirs (R277).
func (r *Reconciler) checkClass(ctx context.Context, p *pass) outcome {
	if p.managed != nil {
		return next()
	}
	name := p.claim.GetClassReference().Name
	r.waiting.wait(client.ObjectKeyFromObject(p.claim), classTopic(name))
	class := r.newClass()
	if err := r.client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		if apierrors.IsNotFound(err) {
			return refuse(xpv1.ReasonClassNotFound, fmt.Errorf("class %s %q does not exist: correct spec.classRef, or ask your platform "+
				"team for the class; kubectl get classes lists those that there are", r.classKind.Kind, name))
		}
		return fail(fmt.Errorf("reading the class: %w", err))
	}
	if meta.WasDeleted(class) {
		return refuse(xpv1.ReasonClassNotFound, fmt.Errorf("class %s %q is being deleted: delete the claim and make another that uses "+
			"another class; kubectl get classes lists those that there are", r.classKind.Kind, name))
	}
	allowed, err := r.allowed(ctx, class.GetClaimLimits().NamespaceSelector, p.claim.GetNamespace())
	switch {
	case isBadSelector(err):
		return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("class %q: ask your platform team to correct "+
			"specTemplate.claims.namespaceSelector: %w", name, err))
	case err != nil:
		return fail(err)
	case !allowed:
		return refuse(xpv1.ReasonNotAllowed, fmt.Errorf("class %q is not for claims of namespace %q: use another one, or ask your "+
			"platform team to allow it", name, p.claim.GetNamespace()))
	}
	p.class = class
	return next()
}

// allowed is true if the labels of the namespace match, as the API server has them: they are read when something is made.
func (r *Reconciler) allowed(ctx context.Context, s *metav1.LabelSelector, namespace string) (bool, error) {
	if s == nil {
		return true, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false, &badSelectorError{err}
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.live.Get(ctx, types.NamespacedName{Name: namespace}, ns); err != nil {
		return false, fmt.Errorf("reading the labels of the claim's namespace: %w", err)
	}
	return selector.Matches(labels.Set(ns.Labels)), nil
}

// badSelectorError reports that a selector cannot be understood.
type badSelectorError struct{ error }

func (e *badSelectorError) Unwrap() error { return e.error }

func isBadSelector(err error) bool {
	_, ok := errors.AsType[*badSelectorError](err)
	return ok
}
