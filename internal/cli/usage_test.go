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
		"UserHelp":         {args: []string{"user", "--help"}, code: exitOK, out: "user revoke shop"},
		"UserNoTeam":       {args: []string{"user", "create", "--namespace", "shop"}, code: exitUsage, err: "name one team"},
		"UserNoNamespace":  {args: []string{"user", "create", "shop"}, code: exitUsage, err: "--namespace NS"},
		"UserBadName": {args: []string{"user", "create", "Shop", "--namespace", "shop"}, code: exitUsage,
			err: "lower case"},
		"UserSystems": {args: []string{"user", "create", "shop", "--namespace", "bowline-system"}, code: exitUsage,
			err: "belongs to the system"},
		"UserDefault": {args: []string{"user", "create", "shop", "--namespace", "default"}, code: exitUsage,
			err: "a namespace of its own"},
		"UserBadRole": {args: []string{"user", "create", "shop", "--namespace", "shop", "--role", "root"}, code: exitUsage,
			err: "there are edit, view, admin"},
		"UserTooLong": {args: []string{"user", "create", "shop", "--namespace", "shop", "--duration", "9999h"}, code: exitUsage,
			err: "from 10m to 2160h"},
		"UserNoServer": {args: []string{"user", "create", "shop", "--namespace", "shop"}, code: exitError,
			err: "with --kubeconfig"},
		"UserBadOutput": {args: []string{"user", "list", "-o", "xml"}, code: exitUsage, err: "use json"},
		"UserBadVerb":   {args: []string{"user", "revok"}, code: exitUsage, err: "did you mean revoke?"},
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
