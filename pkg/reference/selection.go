// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// matches returns the objects that the selector matches and that are not being deleted; leaving is true if there are others. An
// object never selects itself.
func (r objectReader) matches(ctx context.Context, q query, namespace string) (found []client.Object, leaving bool, err error) {
	list, ok := q.to.List.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil, false, fmt.Errorf("%T does not copy to its own type", q.to.List)
	}
	err = r.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(q.selector.MatchLabels))
	if err != nil {
		return nil, false, err
	}
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		switch {
		case !ok:
			return fmt.Errorf("%T has items that are no objects", list)
		case o.GetUID() == r.from.GetUID(), sameController(q.selector) && !meta.HaveSameController(r.from, o):
		case meta.WasDeleted(o):
			leaving = true
		default:
			found = append(found, o)
		}
		return nil
	})
	return found, leaving, err
}

func sameController(s *xpv1.NamespacedSelector) bool {
	return s.MatchControllerRef != nil && *s.MatchControllerRef
}

// describe completes "no Network ..." for a selector that selects nothing.
func describe(s *xpv1.NamespacedSelector) string {
	switch chosen := labels.Set(s.MatchLabels).String(); {
	case chosen == "" && sameController(s):
		return "has the same controller"
	case chosen == "":
		return "exists yet"
	case sameController(s):
		return "matches labels " + chosen + " and has the same controller"
	default:
		return "matches labels " + chosen
	}
}

// older orders by age, then by name (R169).
func older(a, b client.Object) int {
	first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return cmp.Or(first.Compare(second.Time), byName(a, b))
}

func byName(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }

// kindOf names the kind of an object in messages. Typed objects often have no type metadata.
func kindOf(o runtime.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.Indirect(reflect.ValueOf(o)).Type().Name()
}
