// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// There are more definitions than fit in a batch, and the first and the last are installed by others.
func TestInstallCRDs(t *testing.T) {
	t.Parallel()
	all := numbered(strings.Trim(controlplanetest.New(t).Prefix, "-")+".example.org", 12)
	theirs := []*apiextensionsv1.CustomResourceDefinition{all[0].DeepCopy(), all[11].DeepCopy()}
	env := controlplanetest.New(t, theirs[0], theirs[1])
	files := fstest.MapFS{}
	for _, d := range all {
		content, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
		t.Cleanup(func() { _ = env.Client.Delete(context.Background(), d) })
	}
	var logged []string
	log := funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
	if err := provider.InstallCRDs(t.Context(), env.Config, log, provider.Provider{Name: "numbered", CRDs: files}); err != nil {
		t.Fatal(err)
	}
	var ours, skipped []string
	for _, d := range all {
		var got apiextensionsv1.CustomResourceDefinition
		if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(d), &got); err != nil {
			t.Fatal(err)
		}
		if got.Labels[crd.LabelManagedBy] == crd.ManagedBy {
			ours = append(ours, d.Name)
		}
		if slices.ContainsFunc(logged, func(line string) bool { return strings.Contains(line, `"`+d.Name+`"`) }) {
			skipped = append(skipped, d.Name)
		}
	}
	for name, tc := range map[string]struct{ want, got []string }{
		"all others are installed (N34)":   {namesOf(all[1:11]), ours},
		"each skipped one is logged (N34)": {namesOf(theirs), skipped},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func namesOf(all []*apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// numbered are definitions of n kinds of a group.
func numbered(group string, n int) []*apiextensionsv1.CustomResourceDefinition {
	var all []*apiextensionsv1.CustomResourceDefinition
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	for i := range n {
		all = append(all, kinds.Definition(gv, fmt.Sprintf("Number%02d", i), apiextensionsv1.ClusterScoped))
	}
	return all
}
