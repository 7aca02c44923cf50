// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheduling chooses classes for claims: it is what packages claimscheduling, claimdefaulting and claim publish.
//
// All controllers that choose see the same classes, those of all providers (see watch.Classes), and so agree on the class of a claim.
//
//   - An Assigner records the chosen class on a claim, if it is of the Assigner's kind.
//   - A Reporter reports on a claim why it gets no class, or why nothing serves the class that it names.
package scheduling

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	mostNamed    = 5   // classes in a message
	mostSelector = 256 // bytes of a selector in a message
)

// unreadError reports a failed request on which a choice depends. No event announces when it would succeed.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// noChoice reports why a claim gets no class (N10). The message is for the team.
func noChoice(reason xpv1.ConditionReason, message string) error {
	return &failure.Error{Reason: reason, Message: message}
}

// choose returns the class that a claim without a class gets. A *failure.Error reports that it gets none, another error that this is
// not known yet.
func choose(ctx context.Context, from *watch.Classes, live client.Reader, claim resource.Claim) (watch.Class, error) {
	all, err := from.List()
	switch {
	case err != nil:
		return watch.Class{}, err
	case !from.Offered():
		return watch.Class{}, noChoice(xpv1.ReasonNoMatchingClass, "No installed provider has classes for claims of this kind. Ask your "+
			"platform team for a provider, or delete the claim.")
	}
	s := claim.GetClassSelector()
	if s == nil {
		return chooseDefault(all)
	}
	matching, err := match(all, s)
	if err != nil {
		return watch.Class{}, err
	}
	return firstFor(ctx, live, claim.GetNamespace(), matching)
}

// match returns the classes that have the labels, in their order (R236, R241, R246). There is one at least.
func match(all []watch.Class, wanted *metav1.LabelSelector) (matching []watch.Class, err error) {
	selector, err := metav1.LabelSelectorAsSelector(wanted)
	if err != nil {
		return nil, noChoice(xpv1.ReasonNoMatchingClass, "spec.classSelector is invalid: "+objects.Shorten(err.Error(), mostSelector))
	}
	for _, class := range all {
		if selector.Matches(class.Labels) {
			matching = append(matching, class)
		}
	}
	if len(matching) > 0 {
		return matching, nil
	}
	why := "exists"
	if !selector.Empty() {
		why = fmt.Sprintf("has the labels that spec.classSelector asks for (%s)", objects.Shorten(selector.String(), mostSelector))
	}
	return nil, noChoice(xpv1.ReasonNoMatchingClass, "No class for claims of this kind "+why+
		". See which labels classes have with kubectl get classes --show-labels, or ask your platform team for a class.")
}

// chooseDefault returns the default class if there is exactly one (R248, N10).
func chooseDefault(all []watch.Class) (watch.Class, error) {
	var defaults []watch.Class
	var names []string
	for _, class := range all {
		if class.Default {
			defaults, names = append(defaults, class), append(names, class.String())
		}
	}
	switch len(defaults) {
	case 0:
		return watch.Class{}, noChoice(xpv1.ReasonNoMatchingClass, "The claim selects no class, and there is no default class for "+
			"claims of this kind. Choose one by its labels in spec.classSelector, or ask your platform team for a default class.")
	case 1:
		return defaults[0], nil
	}
	list := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	return watch.Class{}, noChoice(xpv1.ReasonAmbiguousDefaultClass, fmt.Sprintf("The claim selects no class, and there are %d default "+
		"classes: %s. Choose one by its labels in spec.classSelector, or ask your platform team to leave one default class.",
		len(defaults), list))
}

// firstFor returns the first class that admits claims of a namespace. If none does, it returns the first of all: package claimbinding
// reports NotAllowed, and continues once the class admits the claim (N10).
func firstFor(ctx context.Context, live client.Reader, namespace string, some []watch.Class) (watch.Class, error) {
	if len(some) == 1 || some[0].Namespaces == nil {
		return some[0], nil
	}
	ns := objects.Metadata(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := live.Get(ctx, types.NamespacedName{Name: namespace}, ns); err != nil {
		return watch.Class{}, &unreadError{fmt.Errorf("reading the labels of the claim's namespace: %w", err)}
	}
	for _, class := range some {
		if class.Admits(labels.Set(ns.Labels)) {
			return class, nil
		}
	}
	return some[0], nil
}
