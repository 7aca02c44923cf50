// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// observationRules judge the fields of observations.
func observationRules() []fieldRule {
	return []fieldRule{
		{Rule{"json", "fields have camelCase names in JSON (P5, P6)"}, jsonName},
		{Rule{"documented", "fields have comments, which kubectl explain shows (P90)"}, documented},
		{Rule{"status-omitempty", "what was not observed is not shown (P50)"}, statusOmitted},
		{Rule{"status-optional", "nothing that is observed is marked +optional or +immutable (P51)"}, statusOptional},
	}
}

func statusOmitted(_ *model.Kind, at model.Place) string {
	if f := at.Field(); !f.Omitted() {
		return fmt.Sprintf("%s would show its zero value while it was not observed: add omitempty to its json tag", f.Name)
	}
	return ""
}

func statusOptional(_ *model.Kind, at model.Place) string {
	f := at.Field()
	for _, marker := range []string{"optional", "immutable"} {
		if f.Comment.Has(marker) {
			return fmt.Sprintf("%s is observed, not set: leave out +%s; a struct that settings use too needs a twin for what is observed",
				f.Name, marker)
		}
	}
	return ""
}
