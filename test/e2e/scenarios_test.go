// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/bowline-dev/bowline/test/plane"
)

// A stage is a plane that scenarios share, and somebody who looks at its cloud without Bowline.
type stage struct {
	*plane.Plane

	cloud *plane.Onlooker
}

func newStage(t *testing.T) *stage {
	t.Helper()
	p := plane.New(t, "--poll-interval=1s", "--cloud-admin")
	p.Up(t)
	return &stage{Plane: p, cloud: p.ConnectEverywhere(t)}
}

// Scenarios of the contract's annex C that leave each other in peace. Scenario 1 is TestRoad; 5 and 12 are in TestTrouble.
func TestScenarios(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, scenario := range map[string]func(*testing.T, *stage){
		"AnnexC 6 R58 R101 R102 N9 pause, delete while paused, go on": deletedWhilePaused,
		"AnnexC 6 N31 pause, delete while paused, let go":             abandonedWhilePaused,
		"AnnexC 7 policies":                            policies,
		"AnnexC 8 node group with autoscaler":          autoscaled,
		"AnnexC 9 references and kubectl delete":       references,
		"AnnexC 9 references until the namespace goes": namespaceGoes,
		"AnnexC 9 R163 R164 controller's mate":         controllerReference,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(t, s)
		})
	}
}
