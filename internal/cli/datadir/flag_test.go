// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// What is printed to be typed must reach the program as it was meant.
func TestShellQuote(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"/var/lib/bowline", "/tmp/with space", "it's", "$HOME", "a\"b", "", "*"} {
		out, err := exec.Command("sh", "-c", "printf %s "+ShellQuote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("the shell reads %q as %q: %v", ShellQuote(word), out, err)
		}
	}
	if got := ShellQuote("/var/lib/bowline"); got != "/var/lib/bowline" {
		t.Errorf("a plain word became %s", got)
	}
}

// $KUBECONFIG may name several files, of which one must exist. A data folder that is named comes before it.
func TestCheckEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		variable, folder string
		fails            bool
	}{
		"unset":                        {},
		"a file":                       {variable: file},
		"one of several":               {variable: file + ".missing" + string(filepath.ListSeparator) + file},
		"none":                         {variable: file + ".missing", fails: true},
		"none, and a folder is chosen": {variable: file + ".missing", folder: t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(Variable, "")
			t.Setenv(clientcmd.RecommendedConfigPathEnvVar, tc.variable)
			f := &Flag{Value: tc.folder}
			if err := f.CheckEnvironment(); (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %t", err, tc.fails)
			}
			if _, err := f.Config(Access{}); tc.variable != "" && tc.folder == "" && (err != nil) != tc.fails {
				t.Errorf("access: error %v, want one: %t", err, tc.fails)
			}
		})
	}
}
