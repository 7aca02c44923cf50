// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// TestCloudAdmin wants the flag to reach the cloud whichever way that is started, and its routes closed without it.
func TestCloudAdmin(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		start func(m *machine, dir string)
		open  bool
	}{
		"Alone": {func(m *machine, dir string) {
			m.start("The local cloud is ready", "cloud", "--data-dir", dir, "--cloud-listen", "127.0.0.1:0", "--cloud-admin")
		}, true},
		"Detached":    {func(m *machine, dir string) { m.up(dir, "--cloud-admin") }, true},
		"WithoutFlag": {func(m *machine, dir string) { m.up(dir) }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			dir := m.dataDir()
			tc.start(m, dir)
			endpoint, err := favouritecloud.ReadEndpoint(datadir.CloudDir(dir))
			if err != nil {
				t.Fatal(err)
			}
			token, err := favouritecloud.ReadAdminToken(datadir.CloudDir(dir))
			if err != nil {
				t.Fatal(err)
			}
			admin, err := sdk.NewAdminClient(endpoint, token)
			if err != nil {
				t.Fatal(err)
			}
			if err := admin.SetFaults(t.Context(), sdk.FaultRule{Latency: "1ms"}); (err == nil) != tc.open || err != nil && !sdk.IsNotFound(err) {
				t.Errorf("setting faults: %v", err)
			}
		})
	}
}
