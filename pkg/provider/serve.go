// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Serve adds managed kinds, with their definitions, to a provider that is set up, also while its manager runs. Those that it has already are
// left as they are. The API server must know the definitions.
func (s *Setup) Serve(all []Kind, defined []*apiextensionsv1.CustomResourceDefinition) error {
	p := s.provider
	p.Kinds, p.Defined = all, slices.Concat(p.Defined, defined)
	l, err := p.layout()
	if err != nil {
		return err
	}
	shared := s.shared()
	for _, k := range l.kinds {
		if !s.layout.add(k) {
			continue
		}
		for _, config := range s.protected[k.configs] {
			if err := config.AddUser(k.gvk); err != nil {
				s.layout.remove(k)
				return err
			}
		}
		if err := s.addKind(k, s.newReconciler(k, shared, s.options)); err != nil {
			s.layout.remove(k)
			return fmt.Errorf("serving kind %s: %w", k.gvk.GroupKind(), err)
		}
	}
	return nil
}
