// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"strings"
	"testing"
)

func TestNeedsServer(t *testing.T) {
	cases := map[string]bool{
		"":                           false,
		"get pods":                   true,
		"-n help get pods":           true,
		"get pods --help":            false,
		"help get":                   false,
		"completion bash":            false,
		"version":                    true,
		"version --client":           false,
		"get pods --client":          true,
		"get pods --kubeconfig=x":    false,
		"get pods --kubeconfig x":    false,
		"exec pod -- program --help": true,
		"--context x get pods":       true,
		"kustomize ./folder":         false,
		"apply -f -":                 true,
	}
	for arguments, want := range cases {
		if got := needsServer(strings.Fields(arguments)); got != want {
			t.Errorf("kubectl %s: want %t, got %t", arguments, want, got)
		}
	}
}
