// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"path"
	"path/filepath"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// addRoot generates AddToScheme of all packages in the root folder of the API, and the package crds, which embeds the definitions,
// unless the author wrote them.
func addRoot(files map[string][]byte, api *model.API) error {
	var served []*model.Package
	for _, pkg := range api.Packages {
		if len(pkg.Kinds) > 0 {
			served = append(served, pkg)
		}
	}
	if len(files) == 0 {
		return nil
	}
	root := api.Package(api.Path)
	if root == nil {
		root = &model.Package{API: api, Dir: api.Dir, Path: api.Path, Name: path.Base(api.Path), Header: served[0].Header}
	}
	if !root.Declares("AddToScheme") && len(root.Kinds) == 0 {
		if err := write(files, root, "zz_generated.register.go", "scheme.tmpl", served, "adds all kinds of the API to a scheme."); err != nil {
			return err
		}
	}
	if api.Package(path.Join(api.Path, "crds")) != nil {
		return nil
	}
	crds := &model.Package{API: api, Name: "crds", Header: served[0].Header}
	crds.Dir, crds.Path = filepath.Join(api.Dir, crds.Name), path.Join(api.Path, crds.Name)
	return write(files, crds, "zz_generated.crds.go", "crds.tmpl", nil,
		"embeds the custom resource definitions of the API.")
}

func write(files map[string][]byte, pkg *model.Package, base, template string, data any, does string) error {
	comment := ""
	if !pkg.Written {
		comment = wrap("Package "+pkg.Name+" "+does) + "\n"
	}
	text, err := (&file{pkg: pkg, imports: map[string]string{}}).write(template, data, comment)
	files[name(pkg, base)] = text
	return err
}
