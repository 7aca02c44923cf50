// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	claimcrds "github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/crd"
)

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
