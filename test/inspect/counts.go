// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Counted returns nil if the class counts exactly those of the claims that have a managed resource of it.
func Counted(class resource.Class, claims []resource.Claim) error {
	entries := map[types.UID]any{}
	if text := class.GetAnnotations()[claimbinding.AnnotationKeyClaims]; text != "" {
		if err := json.Unmarshal([]byte(text), &entries); err != nil {
			return err
		}
	}
	for _, claim := range claims {
		if claim.GetClassReference() == nil || claim.GetResourceReference() == nil {
			continue
		}
		if _, counts := entries[claim.GetUID()]; !counts {
			return fmt.Errorf("the class does not count claim %s", claim.GetName())
		}
		delete(entries, claim.GetUID())
	}
	if len(entries) > 0 {
		return fmt.Errorf("the class counts claims without a managed resource of it: %v", slices.Collect(maps.Keys(entries)))
	}
	return nil
}
