// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard divides the managed resources of providers between processes, by their ProviderConfigs: so the limits of each ProviderConfig
// are kept by one process.
//
// A process has a label selector. It reconciles the ProviderConfigs that the selector matches, and the managed resources that use them. What
// has no ProviderConfig, such as claims, targets and Secrets, is for the process whose selector matches an object without labels, such as
// !shard beside shard=a. All processes watch everything, since claims and references read it.
package shard

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// A Shard is what a process reconciles. A nil Shard is everything.
type Shard struct{ selector labels.Selector }

// Parse returns the shard of a label selector: nil of an empty one.
func Parse(selector string) (*Shard, error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, fmt.Errorf("--watch-label-selector: %w", err)
	}
	if parsed.Empty() {
		return nil, nil
	}
	return &Shard{parsed}, nil
}

// Owns is true for a ProviderConfig of the shard.
func (s *Shard) Owns(config client.Object) bool { return s.Matches(config.GetLabels()) }

// Matches is true for the labels of a ProviderConfig of the shard.
func (s *Shard) Matches(of labels.Set) bool { return s == nil || s.selector.Matches(of) }

// Changes accept changes of ProviderConfigs by which the shard gets or loses them.
func (s *Shard) Changes() []predicate.Predicate {
	if s == nil {
		return nil
	}
	return []predicate.Predicate{predicate.LabelChangedPredicate{}}
}

// OwnsRest is true for the shard that has everything that has no ProviderConfig.
func (s *Shard) OwnsRest() bool { return s.Matches(nil) }

// LeaseName returns the name of the lease of the shard of a provider, which has the given lease.
func (s *Shard) LeaseName(whole string) string {
	if s.OwnsRest() {
		return whole
	}
	sum := sha256.Sum256([]byte(s.selector.String()))
	return fmt.Sprintf("%s-%x", whole, sum[:4])
}
