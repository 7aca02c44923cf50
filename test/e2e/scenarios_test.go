// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"

	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }

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

// Scenarios that do not affect each other share a plane. Those of the contract's annex C that concern one controller or one provider
// are proven beside its code.
func TestScenarios(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	m := newMarket(t, s)
	of := func(scenario func(*testing.T, *market)) func(*testing.T, *stage) {
		return func(t *testing.T, _ *stage) { scenario(t, m) }
	}
	t.Run("together", func(t *testing.T) {
		for name, scenario := range map[string]func(*testing.T, *stage){
			"references until the namespace is deleted": references,
			"adoption on request (N6 N24)":              adopted,
			"mistakes":                                  mistakes,
			"refused at admission":                      refusedAtAdmission,
			"rights of the controllers":                 controllersMayNot,
			"examples":                                  examples,
			"dynamic claim (R257, R262, R264, R266, R270, R273)":               of(dynamic),
			"default class (R247, R248)":                                       of(byDefault),
			"static claim (R256, N4, N27)":                                     of(static),
			"two providers (N10)":                                              of(twoProviders),
			"moved to another provider by a label (D19, R257, R283)":           of(moved),
			"retained, read with the old password, and bound again (R279, N4)": of(retained),
			"kept where its claim lost its finalizers by force (N56)":          of(torn),
			"left behind, and not given to another team (N23, N48)":            of(leftBehind),
			"deleted with all that there was (R279)":                           of(deletedWithAll),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				scenario(t, s)
			})
		}
	})
	t.Run("killed between creation and record (R77, N5, N26)", func(t *testing.T) { cutOff(t, s) })
}
