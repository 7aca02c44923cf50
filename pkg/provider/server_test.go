// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr/funcr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// The first and the last of three definitions are installed by others.
func TestInstallCRDs(t *testing.T) {
	t.Parallel()
	gv := schema.GroupVersion{Group: strings.Trim(controlplanetest.New(t).Prefix, "-") + ".example.org", Version: "v1"}
	files := fstest.MapFS{}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range []string{"First", "Second", "Third"} {
		d := kinds.Definition(gv, kind, apiextensionsv1.ClusterScoped)
		content, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
		all = append(all, d)
	}
	env := controlplanetest.New(t, all[0].DeepCopy(), all[2].DeepCopy())
	t.Cleanup(func() { _ = env.Client.Delete(context.Background(), all[1]) })
	var logged []string
	log := funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
	if err := provider.InstallCRDs(t.Context(), env.Config, log, provider.Provider{Name: "numbered", CRDs: files}); err != nil {
		t.Fatal(err)
	}
	for i, d := range all {
		t.Run(d.Spec.Names.Kind+" is installed, or skipped and logged (N34)", func(t *testing.T) {
			var got apiextensionsv1.CustomResourceDefinition
			if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(d), &got); err != nil {
				t.Fatal(err)
			}
			skipped := slices.ContainsFunc(logged, func(line string) bool { return strings.Contains(line, `"`+d.Name+`"`) })
			if ours := got.Labels[crd.LabelManagedBy] == crd.ManagedBy; ours != (i == 1) || skipped == ours {
				t.Errorf("ours: %t, skipped: %t", ours, skipped)
			}
		})
	}
}
