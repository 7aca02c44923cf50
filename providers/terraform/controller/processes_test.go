// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// A status is only another one if something happened to a process, or its memory changed much.
func TestReportProcesses(t *testing.T) {
	t.Parallel()
	is := func(name string, state processes.State, memory int64) processes.Status {
		return processes.Status{Config: limits.Key{Kind: "ProviderConfig", Name: name}, State: state, Started: time.Unix(1000, 5), Memory: memory}
	}
	refused := is("b", processes.CannotStart, 0)
	refused.Reason = failure.InvalidSettings
	for name, tc := range map[string]struct {
		before, now []processes.Status
		changed     bool
	}{
		"nothing":                     {nil, nil, false},
		"the same":                    {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Running, 100)}, false},
		"half more":                   {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Running, 150)}, false},
		"half less":                   {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Running, 50)}, false},
		"much more memory":            {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Running, 151)}, true},
		"much less memory":            {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Running, 49)}, true},
		"it ended":                    {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Ended, 0)}, true},
		"another one":                 {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("a", processes.Running, 100), refused}, true},
		"memory is known now":         {[]processes.Status{is("a", processes.Running, 0)}, []processes.Status{is("a", processes.Running, 100)}, true},
		"memory of another namespace": {[]processes.Status{is("a", processes.Running, 100)}, []processes.Status{is("b", processes.Running, 145)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := v1alpha1.TerraformProviderStatus{}, v1alpha1.TerraformProviderStatus{}
			reportProcesses(&before, nil, tc.before, 0)
			reportProcesses(&now, before.Processes, tc.now, 0)
			if diff := cmp.Diff(before, now); (diff != "") != tc.changed {
				t.Errorf("-before +now:\n%s", diff)
			}
		})
	}
	t.Run("of many, those that do not run", func(t *testing.T) {
		var all []processes.Status
		for i := range mostProcesses {
			all = append(all, is(fmt.Sprintf("a%03d", i), processes.Running, 1))
		}
		status := v1alpha1.TerraformProviderStatus{}
		reportProcesses(&status, nil, append(all, refused), 7)
		want := v1alpha1.Process{Kind: "ProviderConfig", Name: "b", State: "CannotStart", Reason: string(failure.InvalidSettings), StartedAt: status.Processes[0].StartedAt}
		if diff := cmp.Diff(want, status.Processes[0]); diff != "" || len(status.Processes) != mostProcesses || status.MoreProcesses != 1 ||
			*status.RunningProcesses != mostProcesses || *status.Restarts != 7 || slices.ContainsFunc(status.Processes, func(p v1alpha1.Process) bool { return p.Name == "a063" }) {
			t.Errorf("%d processes and %d more, -want +got:\n%s", len(status.Processes), status.MoreProcesses, diff)
		}
	})
}
