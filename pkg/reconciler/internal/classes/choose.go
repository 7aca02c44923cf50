// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// named is how many classes a message names.
const named = 5

// mostText is how many bytes a message repeats of a selector.
const mostText = 256

// NoChoiceError says why a claim gets no class (N10).
type NoChoiceError struct {
	Reason  xpv1.ConditionReason
	Message string // for whoever made the claim
}

// Error satisfies error.
func (e *NoChoiceError) Error() string { return e.Message }

// Choose returns the class that a claim without a class gets. A *NoChoiceError says that it gets none, another error that
// this cannot be known yet.
func (c *Classes) Choose(ctx context.Context, claim resource.Claim) (Class, error) {
	all, err := c.List()
	if err != nil {
		return Class{}, err
	}
	s := claim.GetClassSelector()
	if s == nil {
		return chooseDefault(all)
	}
	matching, err := match(all, s)
	if err != nil {
		return Class{}, err
	}
	return c.firstFor(ctx, claim.GetNamespace(), matching)
}

// match returns the classes that have the labels, in their order (R236, R241, R246). There is one at least.
func match(all []Class, wanted *metav1.LabelSelector) (matching []Class, err error) {
	selector, err := metav1.LabelSelectorAsSelector(wanted)
	if err != nil {
		return nil, &NoChoiceError{xpv1.ReasonNoMatchingClass, "spec.classSelector cannot be understood: " + shortened(err.Error())}
	}
	for _, class := range all {
		if selector.Matches(class.Labels) {
			matching = append(matching, class)
		}
	}
	if len(matching) > 0 {
		return matching, nil
	}
	return nil, &NoChoiceError{xpv1.ReasonNoMatchingClass, "No class for claims of this kind " + asked(selector) +
		". See which labels classes have with kubectl get classes --show-labels, or ask your platform team for a class."}
}

func asked(s labels.Selector) string {
	if s.Empty() {
		return "exists"
	}
	return fmt.Sprintf("has the labels that spec.classSelector asks for (%s)", shortened(s.String()))
}

// shortened is what a message repeats of a text that may be as long as an object.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

// chooseDefault returns the default class if there is one (R248, N10).
func chooseDefault(all []Class) (Class, error) {
	var defaults []Class
	for _, class := range all {
		if class.Default {
			defaults = append(defaults, class)
		}
	}
	switch len(defaults) {
	case 0:
		return Class{}, &NoChoiceError{xpv1.ReasonNoMatchingClass, "The claim does not say which class it wants, and there is no default class " +
			"for claims of this kind. Choose one by its labels in spec.classSelector, or ask your platform team for a default class."}
	case 1:
		return defaults[0], nil
	}
	return Class{}, &NoChoiceError{xpv1.ReasonAmbiguousDefaultClass, fmt.Sprintf("The claim does not say which class it wants, and there are "+
		"%d default classes: %s. Choose one by its labels in spec.classSelector, or ask your platform team to leave one default class.",
		len(defaults), listOf(defaults))}
}

func listOf(classes []Class) string {
	var names []string
	for _, class := range classes[:min(len(classes), named)] {
		names = append(names, class.String())
	}
	if more := len(classes) - named; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}
