// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// keptKeys returns what only the copy still has, where its source was lost and published anew without: of what the creation of the
// managed resource told, so that a copy of another managed resource, which had the name before, keeps nothing.
func keptKeys(p *pass, have *corev1.Secret) map[string][]byte {
	kept := map[string][]byte{}
	if !copies.IsOfLost(have, p.source) {
		return kept
	}
	for _, key := range lostKeys(p) {
		if value, has := have.Data[key]; has {
			kept[key] = value
		}
	}
	return kept
}

// lostKeys returns what the creation of the managed resource told and the source lacks.
func lostKeys(p *pass) []string {
	return slices.DeleteFunc(managed.CreatedKeys(p.managed), func(key string) bool {
		_, has := p.source.Data[key]
		return has
	})
}

// content returns what the copy should have.
func content(p *pass, have *corev1.Secret) map[string][]byte {
	data := keptKeys(p, have)
	maps.Copy(data, p.source.Data)
	return data
}

func hasContent(p *pass, have *corev1.Secret) bool {
	return maps.EqualFunc(have.Data, content(p, have), bytes.Equal)
}

// isInStep is true for a copy that needs no write of ours.
func isInStep(p *pass, have *corev1.Secret) bool {
	switch {
	case have == nil:
		return false
	case len(keptKeys(p, have)) > 0:
		return copies.IsImmutable(have) || hasContent(p, have)
	default:
		return copies.IsFrom(have, p.source) && (!copies.IsImmutable(have) || hasContent(p, have))
	}
}

// lost says what the source has no more, and whether the copy still has it; nil if nothing is lost.
func lost(p *pass, have *corev1.Secret) error {
	keys := lostKeys(p)
	if len(keys) == 0 {
		return nil
	}
	what := fmt.Sprintf("the connection Secret of managed resource %s %q lost %s", p.target.GetResourceReference().Kind,
		p.managed.GetName(), strings.Join(keys, ", "))
	if kept := slices.Sorted(maps.Keys(keptKeys(p, have))); len(kept) > 0 {
		return fmt.Errorf("%s, of which Secret %q still has and keeps %s: ask your platform team to add what is missing to theirs; to do "+
			"without, delete yours, and it is made anew", what, have.Name, strings.Join(kept, ", "))
	}
	return fmt.Errorf("%s: ask your platform team, who sees in its conditions what to do", what)
}
