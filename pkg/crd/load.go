// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd installs custom resource definitions without overwriting those of others.
//
// Load reads the definitions that a program embeds. Apply brings them to an API server by server-side apply: one read for each
// that is up to date, one write for each that is not. It skips definitions without LabelManagedBy, and updates that
// would stop serving a version that objects or clients may still use; the Report names them.
//
//	//go:embed crds/*.yaml
//	var files embed.FS
//
//	crds, err := crd.Load(files)
//	report, err := crd.Apply(ctx, cfg, crds...)
package crd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Load reads all .yaml files of a file system, in the order of their paths. A file may contain several documents; each must be a
// v1 CustomResourceDefinition with a unique name and without unknown fields.
func Load(files fs.FS) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	origin := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || path.Ext(name) != ".yaml" {
			return nil
		}
		read, err := loadFile(files, name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		for _, definition := range read {
			if first, taken := origin[definition.Name]; taken {
				return fmt.Errorf("reading %s: %s is in %s already", name, definition.Name, first)
			}
			origin[definition.Name] = name
		}
		crds = append(crds, read...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loading custom resource definitions: %w", err)
	}
	return crds, nil
}

func loadFile(files fs.FS, name string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return crds, nil
		}
		if err != nil {
			return nil, err
		}
		definition, err := decode(document)
		if err != nil {
			return nil, err
		}
		if definition != nil {
			crds = append(crds, definition)
		}
	}
}

// decode returns nil for a document that holds nothing but comments.
func decode(document []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil || string(data) == "null" {
		return nil, err
	}
	definition, decoder := &apiextensionsv1.CustomResourceDefinition{}, json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(definition); err != nil {
		return nil, err
	}
	if got, want := definition.GroupVersionKind(), kind(); got != want {
		return nil, fmt.Errorf("%s %q is not a %s %s", got.Kind, definition.Name, want.GroupVersion(), want.Kind)
	}
	if definition.Name == "" {
		return nil, errors.New("metadata.name is missing")
	}
	return definition, nil
}
