// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// Every example is what the server accepts, and every managed kind has one.
func TestExamples(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	files, err := filepath.Glob("../../../examples/fcp/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		for _, u := range documents(t, file) {
			shown[u.GroupVersionKind().String()] = true
			if u.GetNamespace() != "" {
				u.SetNamespace(env.Namespace)
			}
			err := env.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.DryRunAll, client.FieldOwner("examples"))
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	for name, k := range managedKinds() {
		if !shown[k.gvk.String()] {
			t.Errorf("%s has no example", name)
		}
	}
}

func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(u)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, u)
	}
}
