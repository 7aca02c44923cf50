// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

// inputsOf returns the keys of Secrets that fields named <name>SecretRef of a ProviderConfig's spec refer to, by path. Those of a namespaced
// one are in its namespace.
func inputsOf(namespace string, spec json.RawMessage) map[string]xpv1.SecretKeySelector {
	var fields map[string]any
	_ = json.Unmarshal(spec, &fields) // which the API server wrote
	found := parameters.SecretReferences(fields)
	for path, ref := range found {
		ref.Namespace = cmp.Or(namespace, ref.Namespace)
		found[path] = ref
	}
	return found
}

// Inputs returns the values of the Secrets that fields of a ProviderConfig's spec refer to beside spec.credentials, by path, for example
// configuration.passwordSecretRef. deleted is the first path whose Secret is being deleted, empty for none.
func (s *Secrets) Inputs(ctx context.Context, namespace string, spec json.RawMessage) (values map[string][]byte, deleted string, err error) {
	values, refs := map[string][]byte{}, inputsOf(namespace, spec)
	for _, path := range slices.Sorted(maps.Keys(refs)) {
		ref := refs[path]
		c, err := s.fromSecret(ctx, &ref)
		if err != nil {
			return nil, "", failure.With(failure.ProviderConfigUnavailable, fmt.Errorf("spec.%s: %w", path, err))
		}
		if c.Deleted {
			deleted = cmp.Or(deleted, path)
		}
		values[path] = c.Value
	}
	return values, deleted, nil
}

// SecretsOf returns the Secrets that a ProviderConfig refers to, without those in a namespace that it must not read.
func SecretsOf(config client.Object) (names []types.NamespacedName, err error) {
	common, spec, err := SpecOf(config)
	if err != nil {
		return nil, err
	}
	if ref := common.Credentials.SecretRef; common.Credentials.Source == xpv1.CredentialsSourceSecret && ref != nil {
		names = append(names, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	}
	for _, ref := range inputsOf(config.GetNamespace(), spec) {
		names = append(names, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return slices.DeleteFunc(slices.Compact(names), func(name types.NamespacedName) bool {
		foreign := config.GetNamespace() != "" && config.GetNamespace() != name.Namespace
		return foreign || name.Name == "" || name.Namespace == ""
	}), nil
}
