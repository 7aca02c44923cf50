// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	claimcrds "github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/failure"
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
		"version as a flag":            {"--version", exitOK, "bowline ", ""},
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

func TestLeakOf(t *testing.T) {
	t.Parallel()
	object := func(reason failure.Reason, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "network.example.org/v1",
			"kind":       "Network",
			"metadata":   map[string]any{"name": "net", "namespace": "team", "uid": "uid", "annotations": annotations},
			"spec":       map[string]any{"providerConfigRef": map[string]any{"name": "prod"}},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Stalled", "status": "True", "reason": string(reason)},
			}},
		}}
	}
	pending := map[string]any{"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z"}
	ended := map[string]any{
		"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z", "crossplane.io/external-create-failed": "2026-01-01T00:00:00Z",
	}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"interrupted (O6)":               {object(failure.CreateInterrupted, pending), true},
		"a person has acted (O6)":        {object(failure.CreateInterrupted, ended), false},
		"in progress (O6)":               {object("", pending), false},
		"another failure meanwhile (O6)": {object(failure.ProviderConfigUnavailable, pending), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := leakOf(tc.object)
			if ok != tc.want {
				t.Fatalf("a leak: %t, want %t", ok, tc.want)
			}
			if !ok {
				return
			}
			want := leak{
				Kind: "network.network.example.org", Namespace: "team", Name: "net", Since: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
				LookFor: map[string]string{"crossplane-kind": "network.network.example.org", "crossplane-name": "net",
					"crossplane-provider": "prod", "bowline-uid": "uid"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWriteLeaks(t *testing.T) {
	t.Parallel()
	leaks := []leak{{Kind: "network.example.org", Name: "net", Since: time.Unix(0, 0).UTC(), LookFor: map[string]string{"bowline-uid": "uid"}}}
	for name, tc := range map[string]struct {
		output string
		leaks  []leak
		want   string
	}{
		"a table (O6)":      {"", leaks, "bowline-uid=uid"},
		"none (O6)":         {"", nil, "No object needs"},
		"json (O6)":         {"json", leaks, `"since": "1970-01-01T00:00:00Z"`},
		"yaml (O6)":         {"yaml", leaks, "bowline-uid: uid"},
		"none as json (O6)": {"json", []leak{}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			cmd := &cobra.Command{}
			output := command.NewOutput(cmd, "a table", "json", "yaml")
			if err := cmd.Flags().Set("output", tc.output); err != nil {
				t.Fatal(err)
			}
			err := output.Print(&out, tc.leaks, func(w io.Writer, _ string) error { return printLeaks(w, tc.leaks) })
			if err != nil || !strings.Contains(out.String(), tc.want) {
				t.Errorf("%v, printed:\n%s", err, out.String())
			}
		})
	}
}

// TestTraceAndWhy runs the two commands as a person does, with a kubeconfig whose namespace has one claim.
func TestTraceAndWhy(t *testing.T) {
	all, err := crd.Load(claimcrds.FS)
	check(t, err)
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), all...))
	claim := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "orders"}, "spec": map[string]any{}}}
	claim.SetAPIVersion("database.crossplane.io/v1alpha1")
	claim.SetKind("PostgreSQLInstance")
	env := controlplanetest.New(t, claim)
	kubeconfig := writeKubeconfig(t, env)
	run := func(t *testing.T, args string) result {
		return runHere(t, append(strings.Fields(args), "--kubeconfig", kubeconfig)...)
	}
	for args, want := range map[string]struct {
		code     int
		out, err string // parts
	}{
		"trace orders":                           {exitOK, "└─ managed resource (none): missing", ""},
		"trace postgresqlinstance orders":        {exitOK, "PostgreSQLInstance " + env.Namespace + "/orders: waiting", ""},
		"trace orders --kind postgresqlinstance": {exitOK, "PostgreSQLInstance ", ""},
		"trace orders -o dot":                    {exitOK, "digraph trace {", ""},
		"trace namespace/" + env.Namespace:       {exitError, "", "bowline why namespace/" + env.Namespace},
		"trace orders -n default":                {exitError, "", "-n " + env.Namespace},
		"why orders":                             {exitOK, "No controller has reconciled it yet.", ""},
		"why pg/orders":                          {exitError, "", `the server has no kind "pg"`},
		"why ns " + env.Namespace:                {exitOK, "is fine.", ""},
		"why order":                              {exitError, "", "there are postgresqlinstance/orders"},
	} {
		t.Run(args, func(t *testing.T) { run(t, args).want(t, want.code, want.out, want.err) })
	}
	for _, command := range []string{"trace", "why"} {
		t.Run(command+" as JSON", func(t *testing.T) {
			out := run(t, command+" orders -o json").out
			var got struct{ Kind, Name, State string }
			err := json.Unmarshal([]byte(out), &got)
			if err != nil || got.Kind != "PostgreSQLInstance" || got.Name != "orders" || got.State != "waiting" {
				t.Errorf("%v in %s", err, out)
			}
		})
	}
}

// writeKubeconfig writes the access to a server to a file, with the namespace of a test.
func writeKubeconfig(t *testing.T, env *controlplanetest.Env) string {
	t.Helper()
	cfg, path := env.Config, filepath.Join(t.TempDir(), "kubeconfig")
	check(t, clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "it",
		Contexts:       map[string]*clientcmdapi.Context{"it": {Cluster: "it", AuthInfo: "it", Namespace: env.Namespace}},
		Clusters: map[string]*clientcmdapi.Cluster{"it": {
			Server: cfg.Host, CertificateAuthority: cfg.CAFile, CertificateAuthorityData: cfg.CAData, InsecureSkipTLSVerify: cfg.Insecure,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"it": {
			ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, ClientCertificate: cfg.CertFile, ClientKey: cfg.KeyFile,
			Token: cfg.BearerToken,
		}},
	}, path))
	return path
}
