// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// options describe an image.
type options struct {
	name, version, source string
	created               time.Time
	programs              []program
}

const (
	account = 65532 // without rights, as in other images without a distribution
	home    = "/home/nonroot"
	search  = "/usr/local/bin"
)

// image returns an index with an image for each platform.
func (o options) image() (v1.ImageIndex, error) {
	base, err := o.layer(baseFiles())
	if err != nil {
		return nil, err
	}
	programs := slices.Clone(o.programs)
	slices.SortFunc(programs, func(a, b program) int { return cmp.Compare(a.platform.String(), b.platform.String()) })
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, p := range programs {
		if i > 0 && programs[i-1].platform.Equals(p.platform) {
			return nil, fmt.Errorf("there are two programs for %s", p.platform)
		}
		one, err := o.platformImage(p, base)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &p.platform}})
	}
	return mutate.Annotations(index, o.labels()).(v1.ImageIndex), nil
}

// platformImage returns the image of a program: what all programs need, then the program.
func (o options) platformImage(p program, base v1.Layer) (v1.Image, error) {
	top, err := o.layer([]file{
		{path: path.Join(search, o.name), mode: 0o755, content: p.content},
		{path: path.Join("/usr/local/share/sbom", o.name+".cdx.json"), mode: 0o644, content: p.bom},
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
		Architecture: p.platform.Architecture, OS: p.platform.OS, Variant: p.platform.Variant, Created: v1.Time{Time: o.created},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", account, account), WorkingDir: home, Entrypoint: []string{path.Join(search, o.name)},
			Env: []string{"PATH=" + search, "HOME=" + home}, Labels: o.labels(),
		},
	})
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	created := v1.Time{Time: o.created}
	return mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "certificate authorities, account"}},
		mutate.Addendum{Layer: top, History: v1.History{Created: created, CreatedBy: o.name + " " + o.version}},
	)
}

// labels are those that registries and scanners show.
func (o options) labels() map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":   o.name,
		"org.opencontainers.image.version": o.version,
		"org.opencontainers.image.created": o.created.Format(time.RFC3339),
	}
	if o.source != "" {
		labels["org.opencontainers.image.source"] = o.source
	}
	return labels
}
