// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

// TestUsage covers what is decided before anything is touched.
func TestUsage(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(datadir.Variable, t.TempDir())
	for name, tc := range map[string]struct {
		args string
		code int
		out  string // a part of it
		err  string // a part of it
	}{
		"no command":                   {"", exitOK, "bowline up --detach", ""},
		"help":                         {"up --help", exitOK, "--cloud-listen", ""},
		"help on faults":               {"up --help", exitOK, "--cloud-admin", ""},
		"help of cloud":                {"cloud --help", exitOK, "PUT /admin/v1/faults", ""},
		"version":                      {"version", exitOK, "bowline ", ""},
		"unknown command":              {"statu", exitUsage, "", "did you mean status?"},
		"unknown flag":                 {"up --foo", exitUsage, "", "See 'bowline up --help'."},
		"argument":                     {"down now", exitUsage, "", `down takes no argument, got "now"`},
		"unknown output":               {"status -o xml", exitUsage, "", "use json or yaml"},
		"no project":                   {"cloud key create", exitUsage, "", "--project NAME"},
		"unknown cloud word":           {"cloud keys", exitUsage, "", "did you mean key?"},
		"no kubeconfig":                {"controllers", exitError, "", "--kubeconfig FILE"},
		"no value of --data-dir":       {"kubectl --data-dir", exitUsage, "", "flag needs an argument"},
		"bad address of metrics":       {"up --metrics-listen nowhere", exitUsage, "", "127.0.0.1:8081"},
		"bad address":                  {"apiserver --listen nowhere", exitError, "", "nowhere"},
		"no server":                    {"kubectl get pods", exitError, "", "start one with: bowline up --detach"},
		"user: help":                   {"user --help", exitOK, "user revoke shop", ""},
		"user: no team":                {"user create --namespace shop", exitUsage, "", "name one team"},
		"user: no namespace":           {"user create shop", exitUsage, "", "--namespace NS"},
		"user: bad name":               {"user create Shop --namespace shop", exitUsage, "", "lower case"},
		"user: system's namespace":     {"user create shop --namespace bowline-system", exitUsage, "", "belongs to the system"},
		"user: namespace default":      {"user create shop --namespace default", exitUsage, "", "a namespace of its own"},
		"user: bad role":               {"user create shop --namespace shop --role root", exitUsage, "", "there are edit, view, admin"},
		"user: too long":               {"user create shop --namespace shop --duration 9999h", exitUsage, "", "from 10m to 2160h"},
		"user: no server":              {"user create shop --namespace shop", exitError, "", "with --kubeconfig"},
		"user: bad output":             {"user list -o xml", exitUsage, "", "use json"},
		"user: bad verb":               {"user revok", exitUsage, "", "did you mean revoke?"},
		"generate: no folder":          {"generate", exitUsage, "", "See 'bowline generate --help'."},
		"nothing forgotten (T25)":      {"generate --check ../codegen/testdata/cloud/apis/...", exitOK, "", ""},
		"mistakes in a type (O23)":     {"generate --check ../codegen/testdata/wrong/apis/...", exitError, "", "thing.go:12:2: documented: "},
		"trace: nothing":               {"trace", exitUsage, "", "name one object as KIND/NAME"},
		"trace: unknown output":        {"trace orders -o yaml", exitUsage, "", "use json or dot"},
		"trace: help":                  {"trace --help", exitOK, "bowline why KIND/NAME", ""},
		"why: two kinds":               {"why ns/x --kind ns", exitUsage, "", "See 'bowline why --help'."},
		"why: unknown output":          {"why orders -o dot", exitUsage, "", "use json"},
		"why: no server":               {"why orders", exitError, "", "start one with: bowline up --detach"},
		"leaks: file without a server": {"leaks --kubeconfig /nonexistent", exitError, "", "reading kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runHere(t, strings.Fields(tc.args)...)
			got.want(t, tc.code, tc.out, tc.err)
			if tc.code != exitOK && strings.Count(got.err, "bowline: ") != 1 {
				t.Errorf("the error is not printed exactly once:\n%s", got.err)
			}
		})
	}
}

// The help of the command that lists leaks, and the page of reasons, name the steps of the cleanup in their order.
func TestLeakProcedure(t *testing.T) {
	t.Parallel()
	page := readFile(t, "../../docs/reasons.md")
	row := regexp.MustCompile("(?m)^\\| `CannotInitializeManagedResource` \\|.*$").FindString(page)
	const pending = `crossplane\.io/external-create-pending`
	for place, tc := range map[string]struct{ text, steps string }{
		"in the help (T63)":            {runHere(t, "leaks", "--help").out, `(?s)in the external system.*delete it there.*` + pending + `-`},
		"on the page of reasons (T63)": {row, "`bowline leaks`.*in the external system.*[Dd]elete.*" + pending},
	} {
		t.Run(place, func(t *testing.T) {
			if !regexp.MustCompile(tc.steps).MatchString(tc.text) {
				t.Errorf("the steps are missing or in another order: %s\nin:\n%s", tc.steps, tc.text)
			}
		})
	}
}
