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
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// A status is only another one if something happened to a process, or its memory changed much.
func TestReportProcesses(t *testing.T) {
	t.Parallel()
	is := func(name string, state external.ProcessState, memory int64) external.Process {
		return external.Process{Config: limits.Key{Kind: "ProviderConfig", Name: name}, State: state, Started: time.Unix(1000, 5), Memory: memory}
	}
	refused := is("b", external.ProcessCannotStart, 0)
	refused.Reason = failure.InvalidSettings
	for name, tc := range map[string]struct {
		before, now []external.Process
		changed     bool
	}{
		"nothing":                     {nil, nil, false},
		"the same":                    {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessRunning, 100)}, false},
		"a tenth more":                {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessRunning, 110)}, false},
		"a tenth less":                {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessRunning, 90)}, false},
		"much more memory":            {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessRunning, 111)}, true},
		"much less memory":            {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessRunning, 89)}, true},
		"it ended":                    {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessEnded, 0)}, true},
		"another one":                 {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("a", external.ProcessRunning, 100), refused}, true},
		"memory is known now":         {[]external.Process{is("a", external.ProcessRunning, 0)}, []external.Process{is("a", external.ProcessRunning, 100)}, true},
		"memory of another namespace": {[]external.Process{is("a", external.ProcessRunning, 100)}, []external.Process{is("b", external.ProcessRunning, 105)}, true},
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
		var all []external.Process
		for i := range mostProcesses {
			all = append(all, is(fmt.Sprintf("a%03d", i), external.ProcessRunning, 1))
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
