// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import "testing"

// A journal outlives a program of a machine, and none of a container or a service.
func TestOutlives(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pid, starter int
		has          string // a variable or a file
		want         bool
	}{
		"started by a shell":                {pid: 20, starter: 10, want: true},
		"the first of a container":          {pid: 1},
		"started by the first":              {pid: 20, starter: 1},
		"started from another namespace":    {pid: 20},
		"in a service of systemd":           {pid: 20, starter: 10, has: "INVOCATION_ID"},
		"by a script in a pod":              {pid: 20, starter: 10, has: "KUBERNETES_SERVICE_HOST"},
		"by a script in Docker's container": {pid: 20, starter: 10, has: "/.dockerenv"},
		"by a script in Podman's":           {pid: 20, starter: 10, has: "/run/.containerenv"},
	} {
		t.Run(name, func(t *testing.T) {
			has := func(what string) bool { return what == tc.has }
			if got := outlives(tc.pid, tc.starter, has, has); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
