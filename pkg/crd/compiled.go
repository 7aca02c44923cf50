// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Compiled is the file beside the YAML files of an API that has the same definitions and policies, for programs: it is read without a
// parser of YAML. bowline generate writes it after the checks of an API server. A file that does not fit the YAML files is not read.
//
// It is a metav1.List in protobuf, compressed: first the hash of the YAML files, then each definition in protobuf and each policy in JSON.
const Compiled = "zz_generated.crds.pb.gz"

// Compile returns the content of file Compiled for YAML files. Each object is as the API server stores it when it is applied, except for what
// differs each time: fields checks an object and returns those of its fields that belong to who applies it. The comment can be read in the
// file.
func Compile(files fs.FS, comment string, fields func(applied *unstructured.Unstructured) (*metav1.FieldsV1, error)) ([]byte, error) {
	all, err := parse(files)
	if err != nil {
		return nil, err
	}
	hash, err := hashOf(files)
	if err != nil {
		return nil, err
	}
	list := metav1.List{Items: []runtime.RawExtension{{Raw: hash}}}
	add := func(o client.Object, applied *unstructured.Unstructured, encode func() ([]byte, error)) error {
		owned, err := fields(applied)
		if err != nil {
			return fmt.Errorf("%s: %w", o.GetName(), err)
		}
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: applied.GetAPIVersion(), FieldsType: "FieldsV1", FieldsV1: owned}})
		raw, err := encode()
		list.Items = append(list.Items, runtime.RawExtension{Raw: raw})
		return err
	}
	types := runtime.NewScheme()
	err = apiextensionsv1.AddToScheme(types)
	for _, d := range all.definitions {
		d = complete(types, d)
		applied, appliedErr := toApply(d)
		if err = cmp.Or(err, appliedErr); err == nil {
			err = add(d, applied, d.Marshal)
		}
	}
	for _, p := range all.policies {
		p.SetLabels(map[string]string{LabelManagedBy: ManagedBy})
		if err == nil {
			err = add(p, p.DeepCopy(), p.MarshalJSON)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compiling definitions: %w", err)
	}
	content, err := list.Marshal()
	if err != nil {
		return nil, err
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	w.Comment = comment
	_, err = w.Write(content)
	err = errors.Join(err, w.Close())
	return compressed.Bytes(), err
}

// Prepared returns the definitions and policies of files as an API server would store them, for a server that has none yet. It returns
// none if the files are not compiled.
func Prepared(files fs.FS) ([]runtime.Object, error) {
	all, err := decompile(files)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for _, d := range all.definitions {
		objects = append(objects, d)
	}
	for _, p := range all.policies {
		var o runtime.Object = &admissionv1.ValidatingAdmissionPolicy{}
		if p.GetKind() == "ValidatingAdmissionPolicyBinding" {
			o = &admissionv1.ValidatingAdmissionPolicyBinding{}
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(p.Object, o); err != nil {
			return nil, fmt.Errorf("decoding policy %s: %w", p.GetName(), err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// decompile returns nothing for files that are not compiled.
func decompile(files fs.FS) (all content, err error) {
	compressed, err := fs.ReadFile(files, Compiled)
	if err != nil {
		return content{}, nil
	}
	var list metav1.List
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		var data []byte
		data, err = io.ReadAll(r)
		if err == nil {
			err = list.Unmarshal(data)
		}
	}
	if err != nil {
		return content{}, fmt.Errorf("reading %s, which bowline generate writes again: %w", Compiled, err)
	}
	hash, err := hashOf(files)
	if err != nil || len(list.Items) == 0 || !bytes.Equal(list.Items[0].Raw, hash) {
		return content{}, err
	}
	for _, item := range list.Items[1:] {
		if bytes.HasPrefix(item.Raw, []byte("{")) {
			policy := &unstructured.Unstructured{}
			all.policies, err = append(all.policies, policy), policy.UnmarshalJSON(item.Raw)
		} else {
			definition := &apiextensionsv1.CustomResourceDefinition{TypeMeta: metav1.TypeMeta{APIVersion: kind().GroupVersion().String(), Kind: kind().Kind}}
			all.definitions, err = append(all.definitions, definition), definition.Unmarshal(item.Raw)
		}
		if err != nil {
			return content{}, fmt.Errorf("decoding an object in %s: %w", Compiled, err)
		}
	}
	return all, nil
}

// hashOf identifies the YAML files.
func hashOf(files fs.FS) ([]byte, error) {
	all := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		content, err := fs.ReadFile(files, name)
		fmt.Fprintf(all, "%s\x00%d\x00", name, len(content))
		all.Write(content)
		return err
	})
	return all.Sum(nil), err
}
