// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	claimcrds "github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// TestTraceAndWhy runs the two commands as a person does, with a kubeconfig whose namespace has one claim.
func TestTraceAndWhy(t *testing.T) {
	all, err := crd.Load(claimcrds.FS)
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplanetest.Install(t.Context(), controlplanetest.Config(t), all...); err != nil {
		t.Fatal(err)
	}
	claim := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "orders"}, "spec": map[string]any{}}}
	claim.SetAPIVersion("database.crossplane.io/v1alpha1")
	claim.SetKind("PostgreSQLInstance")
	env := controlplanetest.New(t, claim)
	kubeconfig := writeKubeconfig(t, env.Config, env.Namespace)
	cases := map[string]struct {
		args []string
		code int
		out  string // a part of it
		err  string // a part of it
	}{
		"TraceName": {args: []string{"trace", "orders"}, code: exitOK, out: "└─ managed resource (none): missing"},
		"TraceKindName": {args: []string{"trace", "postgresqlinstance", "orders"}, code: exitOK,
			out: "PostgreSQLInstance " + env.Namespace + "/orders: waiting"},
		"TraceKindFlag": {args: []string{"trace", "orders", "--kind", "postgresqlinstance"}, code: exitOK, out: "PostgreSQLInstance "},
		"TraceDot":      {args: []string{"trace", "orders", "-o", "dot"}, code: exitOK, out: "digraph trace {"},
		"TraceNamespace": {args: []string{"trace", "namespace/" + env.Namespace}, code: exitError,
			err: "bowline why namespace/" + env.Namespace},
		"TraceElsewhere":  {args: []string{"trace", "orders", "-n", "default"}, code: exitError, err: "-n " + env.Namespace},
		"TraceNothing":    {args: []string{"trace"}, code: exitUsage, err: "name one object as KIND/NAME"},
		"TraceUnknownOut": {args: []string{"trace", "orders", "-o", "yaml"}, code: exitUsage, err: "use json or dot"},
		"TraceHelp":       {args: []string{"trace", "--help"}, code: exitOK, out: "bowline why KIND/NAME"},
		"WhyName":         {args: []string{"why", "orders"}, code: exitOK, out: "No controller has reconciled it yet."},
		"WhyKindName":     {args: []string{"why", "pg/orders"}, code: exitError, err: `the server has no kind "pg"`},
		"WhyFine":         {args: []string{"why", "ns", env.Namespace}, code: exitOK, out: "is fine."},
		"WhyNoSuch":       {args: []string{"why", "order"}, code: exitError, err: "there are postgresqlinstance/orders"},
		"WhyTwoKinds":     {args: []string{"why", "ns/x", "--kind", "ns"}, code: exitUsage, err: "See 'bowline why --help'."},
		"WhyUnknownOut":   {args: []string{"why", "orders", "-o", "dot"}, code: exitUsage, err: "use json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := runWith(t, kubeconfig, tc.args...)
			if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(stderr, tc.err) {
				t.Errorf("exit code %d\nstdout:\n%s\nstderr:\n%s", code, out, stderr)
			}
		})
	}
	for _, command := range []string{"trace", "why"} {
		t.Run(command+" as JSON", func(t *testing.T) {
			_, out, _ := runWith(t, kubeconfig, command, "orders", "-o", "json")
			var got struct{ Kind, Name, State string }
			err := json.Unmarshal([]byte(out), &got)
			if err != nil || got.Kind != "PostgreSQLInstance" || got.Name != "orders" || got.State != "waiting" {
				t.Errorf("%v in %s", err, out)
			}
		})
	}
}

func runWith(t *testing.T, kubeconfig string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	args = append([]string{"bowline"}, append(args, "--kubeconfig", kubeconfig)...)
	code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

// writeKubeconfig writes access to a server, whose default namespace is the given one, to a file.
func writeKubeconfig(t *testing.T, cfg *rest.Config, namespace string) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["it"] = &clientcmdapi.Cluster{
		Server: cfg.Host, CertificateAuthority: cfg.CAFile, CertificateAuthorityData: cfg.CAData, InsecureSkipTLSVerify: cfg.Insecure,
	}
	file.AuthInfos["it"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData, ClientCertificate: cfg.CertFile, ClientKey: cfg.KeyFile,
		Token: cfg.BearerToken,
	}
	file.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it", Namespace: namespace}
	file.CurrentContext = "it"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
