// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials lists, in the format CycloneDX, the modules that a program was built of, and the Go release with its standard library.
func (o options) billOfMaterials(p program) ([]byte, error) {
	sum := sha256.Sum256(p.content)
	main := component(p.info.Main.Path, o.version)
	main.Type, main.Name = cyclonedx.ComponentTypeApplication, o.name
	main.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	parts := []cyclonedx.Component{component("std", strings.TrimPrefix(p.info.GoVersion, "go"))}
	for _, module := range p.info.Deps {
		parts = append(parts, component(used(module).Path, used(module).Version))
	}
	var refs []string
	for _, part := range parts {
		refs = append(refs, part.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: o.created.Format(time.RFC3339), Component: &main}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

// used is the module, or its replacement.
func used(module *debug.Module) *debug.Module {
	if module.Replace != nil {
		return module.Replace
	}
	return module
}

func component(module, version string) cyclonedx.Component {
	url := "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B") // of +incompatible
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, Name: module, Version: version, PackageURL: url}
}
