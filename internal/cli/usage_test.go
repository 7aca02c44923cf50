// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// TestUsage covers what is decided before anything is touched.
func TestUsage(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(datadir.Variable, t.TempDir())
	cases := map[string]struct {
		args []string
		code int
		out  string // a part of it
		err  string // a part of it
	}{
		"NoCommand":        {args: nil, code: exitOK, out: "bowline up --detach"},
		"Help":             {args: []string{"up", "--help"}, code: exitOK, out: "--cloud-listen"},
		"HelpOnFaults":     {args: []string{"up", "--help"}, code: exitOK, out: "--cloud-admin"},
		"HelpOfCloud":      {args: []string{"cloud", "--help"}, code: exitOK, out: "PUT /admin/v1/faults"},
		"Version":          {args: []string{"version"}, code: exitOK, out: "bowline "},
		"UnknownCommand":   {args: []string{"statu"}, code: exitUsage, err: "did you mean status?"},
		"UnknownFlag":      {args: []string{"up", "--foo"}, code: exitUsage, err: "See 'bowline up --help'."},
		"Argument":         {args: []string{"down", "now"}, code: exitUsage, err: `down takes no argument, got "now"`},
		"UnknownOutput":    {args: []string{"status", "-o", "xml"}, code: exitUsage, err: "use json or yaml"},
		"NoProject":        {args: []string{"cloud", "key", "create"}, code: exitUsage, err: "--project NAME"},
		"UnknownCloudWord": {args: []string{"cloud", "keys"}, code: exitUsage, err: "did you mean key?"},
		"NoKubeconfig":     {args: []string{"controllers"}, code: exitError, err: "--kubeconfig FILE"},
		"NoDataDirValue":   {args: []string{"kubectl", "--data-dir"}, code: exitUsage, err: "flag needs an argument"},
		"BadMetricsListen": {args: []string{"up", "--metrics-listen", "nowhere"}, code: exitUsage, err: "127.0.0.1:8081"},
		"BadListen":        {args: []string{"apiserver", "--listen", "nowhere"}, code: exitError, err: "nowhere"},
		"NoServer":         {args: []string{"kubectl", "get", "pods"}, code: exitError, err: "start one with: bowline up --detach"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			code := Run(t.Context(), append([]string{"bowline"}, tc.args...), Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
			if code != tc.code || !strings.Contains(out.String(), tc.out) || !strings.Contains(stderr.String(), tc.err) {
				t.Errorf("exit code %d\nstdout:\n%s\nstderr:\n%s", code, &out, &stderr)
			}
			if tc.code != exitOK && strings.Count(stderr.String(), "bowline: ") != 1 {
				t.Errorf("the error is not printed exactly once:\n%s", &stderr)
			}
		})
	}
}
