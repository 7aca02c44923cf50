// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const widgetYAML = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.org
spec:
  group: example.org
  names: {kind: Widget, plural: widgets}
  scope: Cluster
  versions: []
`

func TestLoad(t *testing.T) {
	gadget := strings.ReplaceAll(strings.ReplaceAll(widgetYAML, "widget", "gadget"), "Widget", "Gadget")
	cases := map[string]struct {
		files map[string]string
		want  []string // names
		err   string   // a part of it
	}{
		"SeveralDocuments": {
			files: map[string]string{"crds/a.yaml": "---\n" + widgetYAML + "---\n" + gadget, "README.md": "text"},
			want:  []string{"widgets.example.org", "gadgets.example.org"},
		},
		"OrderOfPaths": {
			files: map[string]string{"b/a.yaml": widgetYAML, "a/b.yaml": gadget},
			want:  []string{"gadgets.example.org", "widgets.example.org"},
		},
		"OnlyComments": {files: map[string]string{"a.yaml": "# nothing\n---\n" + widgetYAML}, want: []string{"widgets.example.org"}},
		"Empty":        {files: map[string]string{}},
		"UnknownField": {files: map[string]string{"a.yaml": widgetYAML + "  colour: red\n"}, err: `reading a.yaml`},
		"OtherKind":    {files: map[string]string{"a.yaml": "apiVersion: v1\nkind: Secret\n"}, err: `is not a apiextensions.k8s.io/v1`},
		"NoName":       {files: map[string]string{"a.yaml": strings.Replace(widgetYAML, "name: widgets.example.org", "labels: {}", 1)}, err: "metadata.name is missing"},
		"Twice": {
			files: map[string]string{"a.yaml": widgetYAML, "b.yaml": widgetYAML},
			err:   "reading b.yaml: widgets.example.org is in a.yaml already",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{}
			for path, content := range tc.files {
				files[path] = &fstest.MapFile{Data: []byte(content)}
			}
			crds, err := Load(files)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("want an error with %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range crds {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
