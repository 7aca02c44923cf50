// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/failure"
)

func TestLeakOf(t *testing.T) {
	t.Parallel()
	object := func(reason failure.Reason, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "network.example.org/v1",
			"kind":       "Network",
			"metadata":   map[string]any{"name": "net", "namespace": "team", "uid": "uid", "annotations": annotations},
			"spec":       map[string]any{"providerConfigRef": map[string]any{"name": "prod"}},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Stalled", "status": "True", "reason": string(reason),
					"lastTransitionTime": "2026-01-01T00:00:00Z"},
			}},
		}}
	}
	pending := map[string]any{"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z"}
	ended := map[string]any{
		"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z", "crossplane.io/external-create-failed": "2026-01-01T00:00:00Z",
	}
	for name, tc := range map[string]struct {
		problem     failure.Reason
		annotations map[string]any
		want        bool
	}{
		"interrupted (O6)":                {failure.CreateInterrupted, pending, true},
		"a person has acted (O6)":         {failure.CreateInterrupted, ended, false},
		"in progress (O6)":                {"", pending, false},
		"in another system (O6, N55)":     {failure.ExternalSystemChanged, pending, true},
		"with a known resource (O6, N55)": {failure.ExternalSystemChanged, ended, false},
		"another failure meanwhile (O6)":  {failure.ProviderConfigUnavailable, pending, false},
		"its label was removed (O6, N48)": {failure.OwnershipUnproven, pending, true},
		"its name was removed (O6, N65)":  {failure.ExternalNameLost, pending, true},
		"with all annotations (O6, N65)":  {failure.ExternalNameLost, nil, true},
		"its state is gone":               {failure.StateLost, nil, true},
		"its answer was lost (O6, N42)":   {failure.ConnectionDetailsLost, pending, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := leakOf(inspect.Kind{}, object(tc.problem, tc.annotations))
			if ok != tc.want {
				t.Fatalf("a leak: %t, want %t", ok, tc.want)
			}
			if !ok {
				return
			}
			want := leak{
				Kind: "network.network.example.org", Namespace: "team", Name: "net", Problem: tc.problem, Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
				LookFor: map[string]string{"crossplane-kind": "network.network.example.org", "crossplane-name": "net",
					"crossplane-provider": "prod", "bowline-uid": "uid", "bowline-namespace": "team"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTerraformProvidersSetNoLabels(t *testing.T) {
	t.Parallel()
	for group, want := range map[string]int{"reef.tf.bowline.dev": 0, "reef.tf.m.bowline.dev": 0, "reef.example.org": 4} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Berth", "metadata": map[string]any{"name": "b",
			"uid": "uid", "annotations": map[string]any{"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z"}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Stalled", "status": "True", "reason": "CreateInterrupted"}}}}}
		got, ok := leakOf(inspect.Kind{}, o)
		if !ok || len(got.LookFor) != want || got.Kind != "berth."+group {
			t.Errorf("%s: %t, want %d labels: %+v", group, ok, want, got)
		}
	}
}

func TestWriteLeaks(t *testing.T) {
	t.Parallel()
	leaks := []leak{{Kind: "network.example.org", Name: "net", Since: time.Unix(0, 0).UTC(), LookFor: map[string]string{"bowline-uid": "uid"}}}
	for name, tc := range map[string]struct {
		output string
		leaks  []leak
		want   string
	}{
		"a table (O6)": {"", leaks, "bowline-uid=uid"},
		"lost details (N22, O6, N42)": {"", []leak{{Kind: "role.example.org", Name: "app", Problem: failure.ConnectionDetailsLost,
			Message: "secret infra/app lacks password: reset it"}}, "app: secret infra/app lacks password: reset it"},
		"no control characters": {"", []leak{{Name: "app", Message: "a\x1b[2Jb"}}, "app: a[2Jb\n"},
		"without labels":        {"", []leak{{Kind: "berth.reef.tf.bowline.dev", Name: "b"}}, "its settings"},
		"none (O6)":             {"", nil, "No object needs"},
		"json (O6)":             {"json", leaks, `"since": "1970-01-01T00:00:00Z"`},
		"yaml (O6)":             {"yaml", leaks, "bowline-uid: uid"},
		"none as json (O6)":     {"json", []leak{}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			cmd := &cobra.Command{}
			output := command.NewOutput(cmd, "a table", "json", "yaml")
			if err := cmd.Flags().Set("output", tc.output); err != nil {
				t.Fatal(err)
			}
			err := output.Print(&out, tc.leaks, func(w io.Writer, _ string) error { return printLeaks(w, tc.leaks) })
			if err != nil || !strings.Contains(out.String(), tc.want) {
				t.Errorf("%v, printed:\n%s", err, out.String())
			}
		})
	}
}

func TestPrintOrphans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		orphans []orphan
		want    string
	}{
		"released":        {[]orphan{{Name: "a", Phase: "Released"}}, "\nTheir external resources exist, with all data."},
		"all are deleted": {[]orphan{{Name: "a", Phase: "Released", Deleted: true}}, "Deleting"},
		"the others exist": {[]orphan{{Name: "a", Phase: "Released"}, {Name: "b", Deleted: true}},
			"\nThe external resources of the others exist, with all data."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := printOrphans(&out, tc.orphans)
			exist := strings.Contains(out.String(), "exist")
			if err != nil || !strings.Contains(out.String(), tc.want) || exist != strings.Contains(tc.want, "exist") {
				t.Errorf("%v, printed:\n%s", err, out.String())
			}
		})
	}
}
