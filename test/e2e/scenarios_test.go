// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// A stage is a plane that scenarios share, with direct access to its cloud.
type stage struct {
	*plane.Plane

	cloud *inspect.Project
}

func newStage(t *testing.T) *stage {
	t.Helper()
	p := plane.New(t, "--poll-interval=1s", "--cloud-admin")
	p.Up(t)
	return &stage{Plane: p, cloud: p.ConnectEverywhere(t)}
}

// Scenarios that do not affect each other share a plane. Scenario 1 of the contract's annex C is TestRoad; 5 and 12 are in
// TestTrouble, 2 to 4 and 11 in TestClaims.
func TestScenarios(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, scenario := range map[string]func(*testing.T, *stage){
		"deletion while paused, resumed (AnnexC 6 R58 R101 R102 N9)": deletedWhilePaused,
		"deletion while paused, abandoned (AnnexC 6 N31)":            abandonedWhilePaused,
		"policies (AnnexC 7)":                                  policies,
		"node group with autoscaler (AnnexC 8)":                autoscaled,
		"references and kubectl delete (AnnexC 9)":             references,
		"references until the namespace is deleted (AnnexC 9)": namespaceGoes,
		"controller reference (AnnexC 9 R163 R164)":            controllerReference,
		"adoption on request (N6 N24)":                         adopted,
		"mistakes":                                             mistakes,
		"refused at admission":                                 refusedAtAdmission,
		"rights of the controllers":                            controllersMayNot,
		"examples":                                             examples,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(t, s)
		})
	}
}
