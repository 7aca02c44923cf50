// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit/mirror"
)

func TestProgramsAreTerraformProviders(t *testing.T) {
	for name, protocol := range map[string]string{"reef": "6", "shoal": "5", "favouritecloud": "6", "time": "5"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), mirror.Program(t, name))
			cmd.Env = []string{ // the handshake of Terraform
				"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2", "PLUGIN_PROTOCOL_VERSIONS=5,6",
				"TF_LOG=ERROR",
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait() // it was killed
			defer cmd.Process.Kill()
			line := make([]byte, 1000)
			n, err := out.Read(line)
			if got := string(line[:n]); err != nil || !strings.HasPrefix(got, "1|"+protocol+"|unix|") {
				t.Errorf("it announced %q (%v), want protocol %s", got, err, protocol)
			}
		})
	}
}
