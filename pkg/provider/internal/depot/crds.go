// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"io/fs"
	"testing/fstest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// CRDs holds the definitions of the kinds, after change saw each of them.
func CRDs(change func(*apiextensionsv1.CustomResourceDefinition)) fs.FS {
	files := fstest.MapFS{}
	for _, d := range Kinds().Definitions() {
		if change != nil {
			change(d)
		}
		content, err := yaml.Marshal(d)
		if err != nil {
			panic(err)
		}
		files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
	}
	return files
}
