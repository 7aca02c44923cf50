// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/pkg/provider"
)

// Output and exit code of a program that cannot start. Package test/external runs a real one.
func TestProgram(t *testing.T) {
	good := newProvider((&clientJournal{}).factory(0))
	bad := good
	bad.Configs = nil
	missing := filepath.Join(t.TempDir(), "none")
	for name, tc := range map[string]struct {
		args      []string
		providers []provider.Provider
		code      int
		words     string
	}{
		"help (A73)":                {[]string{"-h"}, []provider.Provider{good}, 0, "metrics-listen"},
		"unknown flag (A73)":        {[]string{"--letter"}, []provider.Provider{good}, 2, "letter"},
		"argument (A73)":            {[]string{"letter"}, []provider.Provider{good}, 2, `"letter"`},
		"poll interval (R224)":      {[]string{"--poll-interval=1ms"}, []provider.Provider{good}, 2, "at least 1s"},
		"no API server (A73)":       {nil, []provider.Provider{good}, 1, "--kubeconfig FILE"},
		"no kubeconfig (A73)":       {[]string{"--kubeconfig", missing}, []provider.Provider{good}, 1, "reading kubeconfig"},
		"no provider (A73)":         {nil, nil, 1, "no provider"},
		"provider that fails (A73)": {nil, []provider.Provider{bad}, 1, "Provider.Configs has no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "") // not within a cluster
			var output bytes.Buffer
			code := provider.Run(t.Context(), append([]string{"program"}, tc.args...), &output, tc.providers)
			if code != tc.code || !strings.Contains(output.String(), tc.words) {
				t.Errorf("exit code %d, output:\n%s", code, &output)
			}
		})
	}
}
