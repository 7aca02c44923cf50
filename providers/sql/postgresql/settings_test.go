// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func TestSpelling(t *testing.T) {
	t.Parallel()
	s := connect(t)
	want := map[string]string{"Work_Mem": "64MB", "search_path": `App,"Two"`, "datestyle": "ISO, MDY"}
	stored := map[string]string{"work_mem": "64MB", "search_path": `app, "Two"`, "DateStyle": "ISO, MDY"}
	r := newRole(t, s, postgresql.Role{Settings: want})
	for range 2 { // Nothing gets lost when there is nothing to change.
		got, err := s.GetRole(t.Context(), r.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, got.Settings); diff != "" {
			t.Errorf("stored: -want +got:\n%s", diff)
		}
		if diff := cmp.Diff(want, postgresql.SpellSettings(got.Settings, want)); diff != "" {
			t.Errorf("spelled: -want +got:\n%s", diff)
		}
		if err := s.UpdateRole(t.Context(), postgresql.Role{Name: r.Name, Settings: want}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.UpdateRole(t.Context(), postgresql.Role{Name: r.Name, Settings: map[string]string{"work_mem": "64MB", "Work_mem": "64MB"}})
	if !postgresql.IsInvalid(err) {
		t.Errorf("a setting that is given twice: %v", err)
	}
}

func TestSameEncoding(t *testing.T) {
	t.Parallel()
	s := connect(t)
	for other, same := range map[string]bool{"UTF8": true, "utf-8": true, "Unicode": true, "LATIN1": false, "none such": false} {
		if got, err := s.SameEncoding(t.Context(), "UTF8", other); err != nil || got != same {
			t.Errorf("UTF8 and %s: %t, %v", other, got, err)
		}
	}
}
