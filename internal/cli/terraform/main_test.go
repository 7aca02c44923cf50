// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

var update = flag.Bool("update", false, "write what is found in testdata instead of comparing it")

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// hidden is in all secrets of testdata.
const hidden = "geheim"

// A result is what a command line did.
type result struct {
	out, err string
	failed   error
}

// all is everything that a person sees.
func (r result) all() string {
	if r.failed != nil {
		return r.out + r.err + r.failed.Error()
	}
	return r.out + r.err
}

func run(t *testing.T, input string, args ...string) result {
	t.Helper()
	return runOn(t, nil, input, args...)
}

// runOn runs a command line on the API server of a test.
func runOn(t *testing.T, env *controlplanetest.Env, input string, args ...string) result {
	t.Helper()
	var out, stderr bytes.Buffer
	open := func(*datadir.Flag, datadir.Access) (*inspect.Cluster, string, error) {
		cluster, err := inspect.Connect(env.Config)
		return cluster, env.Namespace, err
	}
	folder := &datadir.Flag{}
	cmd := New(nil, command.Streams{In: strings.NewReader(input), Out: &out, Err: &stderr}, folder, open)
	folder.AddFlags(cmd.PersistentFlags())
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	failed := cmd.ExecuteContext(t.Context())
	return result{out.String(), stderr.String(), failed}
}

// providers are the flags for both providers.
func providers(t *testing.T) []string {
	return []string{"--provider", "shoal=" + mirror.Program(t, "shoal"), "--provider", "reef=" + mirror.Program(t, "reef")}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s -want +got:\n%s", name, diff)
	}
}

// objects returns the objects of YAML documents.
func objects(t *testing.T, documents string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(documents, "---\n") {
		o := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err == nil {
			err = json.Unmarshal(data, &o.Object)
		}
		if err == nil {
			err = o.UnmarshalJSON(data)
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		all = append(all, o)
	}
	return all
}

// install installs the kinds of a provider under a name that only this test has.
func install(t *testing.T, env *controlplanetest.Env, provider string) (name string, s *source.Provider) {
	t.Helper()
	name = strings.ReplaceAll(env.Prefix, "-", "") + provider
	s, err := source.Start(t.Context(), name, mirror.Program(t, provider))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Process.Close)
	var all []*apiextensionsv1.CustomResourceDefinition
	for resourceType, schema := range s.Types {
		both, err := kinds.Definitions(name, resourceType, schema)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, both...)
	}
	env.Uninstall(t, name)
	if err := controlplanetest.Install(t.Context(), env.Config, all...); err != nil {
		t.Fatal(err)
	}
	return name, s
}

// tryCreate has the API server check objects, unknown fields included.
func tryCreate(t *testing.T, env *controlplanetest.Env, documents string) {
	t.Helper()
	strict := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	for _, o := range objects(t, documents) {
		if err := strict.Create(t.Context(), o, client.DryRunAll); err != nil {
			t.Errorf("%v\n%s", err, documents)
		}
	}
}
