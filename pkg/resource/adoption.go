// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Adoption are the rules of a provider configuration about external resources that exist already. The zero value permits to adopt any
// (N48).
type Adoption struct {
	Of     string              // the configuration, in messages
	Policy xpv1.AdoptionPolicy // default: AdoptAny
	Names  []string            // patterns of external names, default: all
	// Namespace is that of a user of a cluster-scoped configuration, which adopts only what is labelled with it.
	Namespace string
}

// Check returns why an external resource may not be adopted, nil if it may. owned is true if it has an ownership label, namespace is
// the value of its label meta.ExternalLabelNamespace.
func (a Adoption) Check(name string, owned bool, namespace string) error {
	switch policy := cmp.Or(a.Policy, xpv1.AdoptAny); {
	case policy == xpv1.AdoptNone, policy == xpv1.AdoptOwned && !owned:
		return fmt.Errorf("%s does not permit to adopt it: its spec.adoption is %s", a.Of, policy)
	case len(a.Names) > 0 && !slices.ContainsFunc(a.Names, func(pattern string) bool { return matches(pattern, name) }):
		return fmt.Errorf("%s does not permit to adopt it: its spec.adoptableNames do not contain the name", a.Of)
	case a.Namespace != "" && namespace != a.Namespace:
		return fmt.Errorf("%s is for all namespaces, and objects of namespace %q may adopt only external resources that the platform "+
			"team labelled %s: %s", a.Of, a.Namespace, meta.ExternalLabelNamespace, a.Namespace)
	}
	return nil
}

// matches is true if the name is the pattern, in which * stands for any text.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	name, found := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1:last] { // the first place of each is best: it leaves the most to the others
		if found {
			_, name, found = strings.Cut(name, part)
		}
	}
	return found && strings.HasSuffix(name, parts[last])
}
