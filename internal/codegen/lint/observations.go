// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// observationRules check the fields of observations.
func observationRules() []fieldRule {
	return []fieldRule{
		jsonRule(),
		documentedRule(),
		{Rule{"status-omitempty", "fields that were not observed are not shown (P50)"}, onField(statusOmitted)},
		{Rule{"status-optional", "observed fields are not marked +optional or +immutable (P51)"}, onField(statusOptional)},
	}
}

func statusOmitted(f *model.Field) string {
	if f.Omitted() {
		return ""
	}
	return fmt.Sprintf("%s shows its zero value before it is observed: add omitempty to its json tag", f.Name)
}

func statusOptional(f *model.Field) string {
	for _, marker := range []string{"optional", "immutable"} {
		if f.Comment.Has(marker) {
			return fmt.Sprintf("%s is an observation and not a setting: remove +%s, or use a separate struct if it is also a setting",
				f.Name, marker)
		}
	}
	return ""
}
