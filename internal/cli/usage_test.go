// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	claimcrds "github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/sql"
)

// TestUsage covers what is decided before anything is touched.
func TestUsage(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder := filepath.Join(t.TempDir(), "new")
	t.Setenv(datadir.Variable, folder)
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
		"up: bad address":              {"up --listen nowhere", exitError, "", "nowhere"},
		"up: bad address of the cloud": {"up --cloud-listen nowhere", exitError, "", "nowhere"},
		"up: no interval":              {"up --poll-interval 0s", exitError, "", "at least 1s"},
		"up: mirror by http":           {"up --terraform-mirror http://mirror.example.com/", exitError, "", "with https except for a loopback address"},
		"controllers: no folder":       {"controllers --terraform-mirror https://mirror.example.com/", exitError, "", "needs --terraform-downloads FOLDER"},
		"cloud: bad address":           {"cloud --cloud-listen nowhere", exitError, "", "nowhere"},
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
		"user: bad output":             {"user list -o xml", exitUsage, "", "use json or yaml"},
		"user: bad verb":               {"user revok", exitUsage, "", "did you mean revoke?"},
		"backup: no name":              {"backup ", exitUsage, "", "name one file"},
		"backup: a stream":             {"backup -", exitUsage, "", "not a stream"},
		"restore: a stream":            {"restore -", exitUsage, "", "not a stream"},
		"rotate: no time":              {"rotate orders --timeout -5s", exitUsage, "", "--timeout must be positive"},
		"logs: no lines":               {"logs --tail -7", exitUsage, "", "--tail must not be negative"},
		"generate: no folder":          {"generate", exitUsage, "", "See 'bowline generate --help'."},
		"nothing forgotten (T25)":      {"generate --check ../codegen/testdata/cloud/apis/...", exitOK, "", ""},
		"mistakes in a type (O23)":     {"generate --check ../codegen/testdata/wrong/apis/...", exitError, "", "thing.go:12:2: documented: "},
		"trace: nothing":               {"trace", exitUsage, "", "name one object as KIND/NAME"},
		"trace: unknown output":        {"trace orders -o xml", exitUsage, "", "use json or yaml or dot"},
		"trace: help":                  {"trace --help", exitOK, "bowline why KIND/NAME", ""},
		"why: two kinds":               {"why ns/x --kind ns", exitUsage, "", "See 'bowline why --help'."},
		"why: unknown output":          {"why orders -o dot", exitUsage, "", "use json or yaml"},
		"why: no server":               {"why orders", exitError, "", "start one with: bowline up --detach"},
		"orphans: help":                {"orphans list --help", exitOK, "reclaimPolicy", ""},
		"orphans: no server":           {"orphans list", exitError, "", "start one with: bowline up --detach"},
		"leaks: no server":             {"leaks", exitError, "", "start one with: bowline up --detach"},
		"resume: no server":            {"resume-deletions", exitError, "", "start one with: bowline up --detach"},
		"leaks: file without a server": {"leaks --kubeconfig /nonexistent", exitError, "", "reading kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Fields(tc.args)
			if strings.HasSuffix(tc.args, " ") {
				args = append(args, "")
			}
			got := runHere(t, args...)
			got.want(t, tc.code, tc.out, tc.err)
			if tc.code != exitOK && strings.Count(got.err, "bowline: ") != 1 {
				t.Errorf("the error is not printed exactly once:\n%s", got.err)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("the data folder was created")
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
		"trace orders -o yaml":                   {exitOK, "\nkind: PostgreSQLInstance\n", ""},
		"trace orders -o dot":                    {exitOK, "digraph trace {", ""},
		"trace namespace/" + env.Namespace:       {exitError, "", "bowline why namespace/" + env.Namespace},
		"trace orders -n default":                {exitError, "", "-n " + env.Namespace},
		"why orders":                             {exitOK, "No controller has reconciled it yet.", ""},
		"why pg/orders":                          {exitOK, "No controller has reconciled it yet.", ""},
		"why box/orders":                         {exitError, "", `the server has no kind "box"`},
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

// A managed resource that was released, or is bound to a claim that does not exist, is listed with that claim; others are not.
func TestOrphans(t *testing.T) {
	all, err := provider.Definitions(core.Provider(), sql.Provider())
	check(t, err)
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), all...))
	env := controlplanetest.New(t)
	claim := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "database.crossplane.io/v1alpha1", "kind": "PostgreSQLInstance",
		"metadata": map[string]any{"namespace": env.Namespace, "name": "used"}, "spec": map[string]any{}}}
	check(t, env.Client.Create(t.Context(), claim))
	for name, phase := range map[string]string{"left": "Released", "used": "Bound", "lost": "Bound", "new": "Unbound"} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"forProvider": map[string]any{}, "classRef": map[string]any{"name": "shared"},
			"claimRef": map[string]any{"apiVersion": "database.crossplane.io/v1alpha1", "kind": "PostgreSQLInstance", "namespace": env.Namespace, "name": name},
		}}}
		o.SetAPIVersion("postgresql.sql.bowline.dev/v1alpha1")
		o.SetKind("TenantDatabase")
		o.SetName(env.Prefix + name)
		o.SetAnnotations(map[string]string{"crossplane.io/external-name": "db"})
		check(t, env.Client.Create(t.Context(), o))
		t.Cleanup(func() { check(t, env.Client.Delete(context.Background(), o)) })
		o.Object["status"] = map[string]any{"bindingPhase": phase}
		check(t, env.Client.Status().Update(t.Context(), o))
	}
	kubeconfig := writeKubeconfig(t, env)
	var got []map[string]any
	check(t, json.Unmarshal([]byte(runHere(t, "orphans", "list", "-o", "json", "--kubeconfig", kubeconfig).out), &got))
	var want []map[string]any
	for name, phase := range map[string]string{"left": "Released", "lost": "Bound"} {
		want = append(want, map[string]any{"kind": "tenantdatabase.postgresql.sql.bowline.dev", "name": env.Prefix + name, "externalName": "db",
			"phase": phase, "claim": env.Namespace + "/" + name, "claimKind": "PostgreSQLInstance", "class": "shared", "deleted": false})
	}
	byName := cmpopts.SortSlices(func(a, b map[string]any) bool { return fmt.Sprint(a["name"]) < fmt.Sprint(b["name"]) })
	if diff := cmp.Diff(want, got, byName); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	runHere(t, "orphans", "list", "--kubeconfig", kubeconfig).want(t, exitOK, env.Prefix+"left", "")
	runHere(t, "status", "--kubeconfig", kubeconfig).want(t, exitOK, "with data that is kept: ", "")
	runHere(t, "status", "--kubeconfig", kubeconfig).want(t, exitOK, "What to do: bowline orphans list --kubeconfig "+kubeconfig, "")
	runHere(t, "status", "--kubeconfig", kubeconfig).want(t, exitOK, env.Config.Host, "")
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
			Token: cfg.BearerToken, Impersonate: cfg.Impersonate.UserName, ImpersonateGroups: cfg.Impersonate.Groups,
		}},
	}, path))
	return path
}
