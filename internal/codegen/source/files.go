// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// Files generates all Go files of an API except the deepcopy functions. The keys are paths relative to the API's base.
func Files(api *model.API) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, pkg := range api.Packages {
		if !pkg.OptedIn() || len(pkg.Kinds) == 0 {
			continue
		}
		if err := addPackage(files, pkg); err != nil {
			return nil, err
		}
	}
	return files, addRoot(files, api)
}

func addPackage(files map[string][]byte, pkg *model.Package) error {
	if !pkg.Written {
		text, err := packageComment(pkg)
		if err != nil {
			return err
		}
		files[name(pkg, "zz_generated.doc.go")] = text
	}
	for _, part := range []struct {
		file, template string
		data           any
	}{
		{"zz_generated.types.go", "types.tmpl", typesOf(pkg)},
		{"zz_generated.register.go", "register.tmpl", pkg},
		{"zz_generated.accessors.go", "accessors.tmpl", accessorsOf(pkg)},
		{"zz_generated.rules.go", "rules.tmpl", rulesOf(pkg)},
		{"zz_generated.resolvers.go", "resolvers.tmpl", resolversOf(pkg)},
	} {
		f := &file{pkg: pkg, imports: map[string]string{}, methods: part.template != "types.tmpl"}
		text, err := f.write(part.template, part.data, "")
		if err != nil {
			return err
		}
		if text != nil {
			files[name(pkg, part.file)] = text
		}
	}
	return nil
}

// packageComment generates the file with the comment and the markers of a package without files of the author.
func packageComment(pkg *model.Package) ([]byte, error) {
	f := &file{pkg: pkg, imports: map[string]string{}}
	comment := wrap("Package "+pkg.Name+" contains the namespaced kinds of "+pkg.Group()+", which share their settings with the "+
		"cluster-scoped ones of "+pkg.Source.Group()+".") + "\n//\n// +kubebuilder:object:generate=true\n// +groupName=" + pkg.Group() + "\n"
	if version := pkg.Source.Comment.Value("versionName"); version != "" {
		comment += "// +versionName=" + version + "\n"
	}
	return f.finish(nil, comment)
}
