// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/team"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
	fcpcrds "github.com/bowline-dev/bowline/providers/fcp/apis/crds"
	sqlcrds "github.com/bowline-dev/bowline/providers/sql/apis/crds"
)

// A team with two namespaces and the default quota leaves something of each example class to other teams.
func TestDefaultClaimsOfOneTeamDoNotUseUpAClass(t *testing.T) {
	t.Parallel()
	const namespaces = 2
	served := map[string]int{} // number of claim kinds, by kind of class
	for _, files := range []fs.FS{fcpcrds.FS, sqlcrds.FS} {
		definitions, err := crd.Load(files)
		check(t, err)
		for _, d := range definitions {
			if kinds := d.Annotations[meta.AnnotationKeyClaimKinds]; kinds != "" {
				served[d.Spec.Names.Kind+"."+d.Spec.Group] = len(strings.Split(kinds, ","))
			}
		}
	}
	limited := 0
	for _, class := range examples(t) {
		limit, found, err := unstructured.NestedFieldNoCopy(class.Object, "specTemplate", "claims", "max")
		if check(t, err); !found {
			continue
		}
		limited++
		kind := class.GetKind() + "." + class.GroupVersionKind().Group
		t.Run(class.GetName(), func(t *testing.T) {
			if served[kind] == 0 {
				t.Fatalf("no definition of %s says which claims it serves", kind)
			}
			if most := team.DefaultClaims * namespaces * served[kind]; limit.(int64) <= int64(most) {
				t.Errorf("%d claims may use the class, and one team with %d namespaces may have %d of the %d kinds that it serves",
					limit, namespaces, most, served[kind])
			}
		})
	}
	if limited == 0 {
		t.Error("no example has a class with a limit")
	}
}

// examples returns all objects in the YAML files of the examples.
func examples(t *testing.T) (objects []unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	check(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		check(t, err)
		for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			check(t, err)
			document, err = yaml.YAMLToJSON(document)
			check(t, err)
			var o unstructured.Unstructured
			if err := o.UnmarshalJSON(document); !runtime.IsMissingKind(err) { // not every file is for the API server
				check(t, err)
				objects = append(objects, o)
			}
		}
	}
	return objects
}
