// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd installs custom resource definitions without overwriting those of others.
//
// Load reads the definitions that a program embeds. Apply brings them to an API server by server-side apply: one read for
// all that are up to date, one write for each that is not. It skips definitions without LabelManagedBy, and updates that
// would stop serving a version that objects or clients may still use; the Report names them.
//
//	//go:embed crds/*.yaml
//	var files embed.FS
//
//	crds, err := crd.Load(files)
//	report, err := crd.Apply(ctx, cfg, crds...)
//	err = crd.Protect(ctx, cfg, files) // the admission policies beside the definitions
package crd

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Load reads all .yaml files of a file system, in the order of their paths. A file may contain several documents; each must be a
// v1 CustomResourceDefinition with a unique name and without unknown fields, or an admission policy, which Protect applies.
func Load(files fs.FS) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := read(files)
	if err != nil {
		return nil, err
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(all.definitions))
	for _, d := range all.definitions {
		crds = append(crds, d.DeepCopy())
	}
	return crds, nil
}

// content is what files hold.
type content struct {
	definitions []*apiextensionsv1.CustomResourceDefinition
	policies    []*unstructured.Unstructured // and their bindings
}

// embedded has a func() (content, error) for each embed.FS. These never change, a program reads each several times while it starts, and
// YAML is slow.
var embedded sync.Map

// Forget frees the memory in which Load keeps what it read, for a program that has started.
func Forget() { embedded.Clear() }

func read(files fs.FS) (content, error) {
	if _, ok := files.(embed.FS); !ok {
		return compiledOr(files)
	}
	once, _ := embedded.LoadOrStore(files, sync.OnceValues(func() (content, error) { return compiledOr(files) }))
	return once.(func() (content, error))()
}

// compiledOr returns what is compiled, without what only a server stores, or else parses the YAML files.
func compiledOr(files fs.FS) (content, error) {
	all, err := decompile(files)
	if err == nil && all.definitions == nil {
		all, err = parse(files)
	}
	for _, d := range all.definitions {
		d.ManagedFields = nil
	}
	for _, p := range all.policies {
		p.SetManagedFields(nil)
	}
	return all, err
}

func parse(files fs.FS) (all content, err error) {
	origin := map[string]string{}
	err = eachDocument(files, func(name string, document []byte) error {
		if isPolicy(document) {
			policy := &unstructured.Unstructured{}
			all.policies = append(all.policies, policy)
			return policy.UnmarshalJSON(document)
		}
		definition, err := decode(document)
		if err != nil {
			return err
		}
		if first, taken := origin[definition.Name]; taken {
			return fmt.Errorf("%s is in %s already", definition.Name, first)
		}
		origin[definition.Name] = name
		all.definitions = append(all.definitions, definition)
		return nil
	})
	if err != nil {
		return content{}, fmt.Errorf("loading custom resource definitions: %w", err)
	}
	return all, nil
}

// eachDocument calls do with every document of the .yaml files, as JSON, except for those that hold nothing but comments.
func eachDocument(files fs.FS, do func(file string, document []byte) error) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				document, err = yaml.YAMLToJSONStrict(document)
			}
			if err == nil && string(document) != "null" {
				err = do(name, document)
			}
			if err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
		}
	})
}

func decode(data []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
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

// ClusterCategory begins the categories of cluster-scoped managed kinds and configurations: no category has kinds of both scopes,
// since kubectl ignores a namespace for those of the cluster (N39).
const ClusterCategory = "cluster"

// IsIn is true for a kind with these categories that is in the given one, or in its counterpart for cluster-scoped kinds.
func IsIn(category string, categories []string) bool {
	return slices.Contains(categories, category) || slices.Contains(categories, ClusterCategory+category)
}
