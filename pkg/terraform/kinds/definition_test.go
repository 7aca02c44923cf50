// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"flag"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

var update = flag.Bool("update", false, "write what is found in testdata instead of comparing it")

// ownParts leaves out what all definitions have in common.
func ownParts(d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	d.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	version := &d.Spec.Versions[0]
	version.AdditionalPrinterColumns = nil
	root := version.Schema.OpenAPIV3Schema
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(root.Properties, name)
	}
	own := map[string]bool{"forProvider": true, "initProvider": true, "atProvider": true, "configuration": true, "environment": true, "files": true}
	for _, part := range []string{"spec", "status"} {
		maps.DeleteFunc(root.Properties[part].Properties, func(name string, _ apiextensionsv1.JSONSchemaProps) bool { return !own[name] })
	}
	return d
}

func TestGolden(t *testing.T) {
	t.Parallel()
	s := &schema.Schema{Block: berth()}
	both, err := kinds.Definitions("reef", "reef_berth", s)
	if err != nil {
		t.Fatal(err)
	}
	configs, err := kinds.ConfigDefinitions("reef", &schema.Schema{Block: &schema.Block{Attributes: []*schema.Attribute{
		attribute("folder", cty.String, required, described("Folder of the vendor.")), attribute("token", cty.String, sensitive)}}})
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, d := range []*apiextensionsv1.CustomResourceDefinition{both[0], configs[1]} {
		text, err := yaml.Marshal(ownParts(d))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	got := strings.Join(documents, "---\n")
	const golden = "testdata/berth.yaml"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100)
	for name, tc := range map[string]struct{ text, want string }{
		"none":                {},
		"short":               {"A size.\n  In bytes", "A size. In bytes"},
		"the first sentences": {"A size. In bytes. " + long, "A size. In bytes."},
		"one long sentence":   {long, strings.TrimSpace(long[:300]) + " …"},
		"one long word":       {strings.Repeat("ü", 200), strings.Repeat("ü", 150) + " …"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &schema.Block{Attributes: []*schema.Attribute{attribute("size", cty.String, described(tc.text))}}
			root := definitions(t, "reef", "reef_berth", b)[0].Spec.Versions[0].Schema.OpenAPIV3Schema
			if got := root.Properties["spec"].Properties["forProvider"].Properties["size"].Description; got != tc.want {
				t.Errorf("description is %q, want %q", got, tc.want)
			}
		})
	}
}
