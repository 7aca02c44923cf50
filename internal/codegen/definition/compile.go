// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"testing/fstest"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/bowline-dev/bowline/internal/codegen/model"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// compile adds the compiled form of the definitions in a folder to the files. It refuses definitions that an API server would refuse.
func compile(ctx context.Context, files memory, dir string) error {
	definitions := fstest.MapFS{}
	for name, text := range files {
		if filepath.Dir(name) == dir && filepath.Ext(name) == ".yaml" {
			definitions[filepath.Base(name)] = &fstest.MapFile{Data: text}
		}
	}
	if len(definitions) == 0 {
		return nil
	}
	ofPolicies := applyconfigurations.NewTypeConverter(scheme.Scheme)
	compiled, err := crd.Compile(definitions, model.GeneratedBy+"\n", func(applied *unstructured.Unstructured) (*metav1.FieldsV1, error) {
		if applied.GetKind() != "CustomResourceDefinition" {
			return fieldsOf(ofPolicies, applied)
		}
		if err := check(ctx, applied); err != nil {
			return nil, err
		}
		return fieldsOf(nil, applied)
	})
	if err == nil {
		files[filepath.Join(dir, crd.Compiled)] = compiled
	}
	return err
}

// check validates a definition as the API server does when it is created.
func check(ctx context.Context, applied *unstructured.Unstructured) error {
	types, definition, internal := runtime.NewScheme(), &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	install.Install(types)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, definition); err != nil {
		return err
	}
	if err := types.Convert(definition, internal, nil); err != nil {
		return err
	}
	for _, v := range internal.Spec.Versions {
		if v.Storage {
			internal.Status.StoredVersions = []string{v.Name}
		}
	}
	if err := validation.ValidateCustomResourceDefinition(ctx, internal).ToAggregate(); err != nil {
		return fmt.Errorf("an API server would refuse it: %w", err)
	}
	return checkVersions(definition)
}

// checkVersions refuses versions with different fields: the API server converts objects by changing their apiVersion. An object that is changed
// in a version loses the fields that this version lacks (N89).
func checkVersions(d *apiextensionsv1.CustomResourceDefinition) error {
	for _, has := range d.Spec.Versions {
		for _, lacks := range d.Spec.Versions {
			if field := crd.LackingField(lacks.Schema.OpenAPIV3Schema, has.Schema.OpenAPIV3Schema); field != "" {
				return fmt.Errorf("version %s has %s, and version %s does not: add it there, too, since objects that are changed in that version "+
					"would lose it; a field that is renamed stays beside the new one", has.Name, field, lacks.Name)
			}
		}
	}
	return nil
}

// notManaged are the fields without a manager.
var notManaged = fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("metadata", "name"))

// fieldsOf returns the fields that belong to who applies an object. Without types, all its lists are atomic, as those of a definition.
func fieldsOf(types managedfields.TypeConverter, applied *unstructured.Unstructured) (*metav1.FieldsV1, error) {
	typed, err := cmp.Or(types, managedfields.NewDeducedTypeConverter()).ObjectToTyped(applied)
	if err != nil {
		return nil, fmt.Errorf("finding the type: %w", err)
	}
	set, err := typed.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("finding the fields: %w", err)
	}
	set = set.Difference(notManaged)
	if types == nil {
		set = set.Leaves() // structs have no manager
	}
	raw, err := set.ToJSON()
	return metav1.NewFieldsV1(string(raw)), err
}
