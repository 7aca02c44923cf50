// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Resolver resolves the references of one object; R and S are the types of its references and selectors. It does not change the
// object.
type Resolver[R, S any] struct {
	reader objectReader
	shape  shape[R, S]
}

// An APIResolver resolves references within a namespace, or between cluster-scoped objects.
type APIResolver = Resolver[xpv1.Reference, xpv1.Selector]

// An APINamespacedResolver resolves references that may name a namespace.
type APINamespacedResolver = Resolver[xpv1.NamespacedReference, xpv1.NamespacedSelector]

// NewAPIResolver returns a resolver of references of the given object, which reads through the given reader.
func NewAPIResolver(c client.Reader, from resource.Managed) *APIResolver {
	return &APIResolver{reader: objectReader{client: c, from: from}, shape: local}
}

// NewAPINamespacedResolver returns a resolver of references of the given object, which reads through the given reader.
func NewAPINamespacedResolver(c client.Reader, from resource.Managed) *APINamespacedResolver {
	return &APINamespacedResolver{reader: objectReader{client: c, from: from}, shape: anywhere}
}

// Resolve resolves a field. A value that is set is kept, and nothing is read, unless the policy of the reference or the selector is
// Always (R168). If there is no target the error is an *UnresolvedError; with resolution policy Optional there is no error, and
// value and reference are unchanged.
func (r *Resolver[R, S]) Resolve(ctx context.Context, req Request[R, S]) (Response[R], error) {
	q := query{to: req.To, extract: req.Extract, namespace: req.Namespace, field: req.FieldPath}
	q.selector = r.shape.selector(req.Selector)
	if req.CurrentValue != "" {
		q.values = []string{req.CurrentValue}
	}
	if req.Reference != nil {
		q.references = []xpv1.NamespacedReference{r.shape.widen(*req.Reference)}
	}
	kept := Response[R]{ResolvedValue: req.CurrentValue, ResolvedReference: req.Reference}
	a, err := r.reader.resolve(ctx, q)
	if err != nil || a.kept {
		return kept, err
	}
	reference := r.shape.narrow(a.references[0])
	return Response[R]{ResolvedValue: a.values[0], ResolvedReference: &reference}, nil
}

// ResolveMultiple resolves a field that is a list (R170). All targets must exist before it returns values, except those of optional
// references. The value of an optional target that appears later is added only with policy Always.
func (r *Resolver[R, S]) ResolveMultiple(ctx context.Context, req MultiRequest[R, S]) (MultiResponse[R], error) {
	q := query{to: req.To, extract: req.Extract, namespace: req.Namespace, field: req.FieldPath, many: true}
	q.selector = r.shape.selector(req.Selector)
	q.values = req.CurrentValues
	q.references = each(req.References, r.shape.widen)
	kept := MultiResponse[R]{ResolvedValues: req.CurrentValues, ResolvedReferences: req.References}
	a, err := r.reader.resolve(ctx, q)
	if err != nil || a.kept {
		return kept, err
	}
	return MultiResponse[R]{ResolvedValues: a.values, ResolvedReferences: each(a.references, r.shape.narrow)}, nil
}

// A shape converts between the references of a field and namespaced references, in which form all are resolved.
type shape[R, S any] struct {
	widen    func(R) xpv1.NamespacedReference
	narrow   func(xpv1.NamespacedReference) R
	selector func(*S) *xpv1.NamespacedSelector
}

var local = shape[xpv1.Reference, xpv1.Selector]{
	widen: func(r xpv1.Reference) xpv1.NamespacedReference {
		return xpv1.NamespacedReference{Name: r.Name, Policy: r.Policy}
	},
	narrow: func(r xpv1.NamespacedReference) xpv1.Reference {
		return xpv1.Reference{Name: r.Name, Policy: r.Policy}
	},
	selector: func(s *xpv1.Selector) *xpv1.NamespacedSelector {
		if s == nil {
			return nil
		}
		return &xpv1.NamespacedSelector{MatchLabels: s.MatchLabels, MatchControllerRef: s.MatchControllerRef, Policy: s.Policy}
	},
}

var anywhere = shape[xpv1.NamespacedReference, xpv1.NamespacedSelector]{
	widen:    func(r xpv1.NamespacedReference) xpv1.NamespacedReference { return r },
	narrow:   func(r xpv1.NamespacedReference) xpv1.NamespacedReference { return r },
	selector: func(s *xpv1.NamespacedSelector) *xpv1.NamespacedSelector { return s },
}
