// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// removeLayout removes the layout in a folder, if there is one.
func removeLayout(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	if err == nil {
		return os.RemoveAll(dir)
	}
	left, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("looking for an earlier image: %w", err)
	case len(left) > 0:
		return fmt.Errorf("%s has files that are not an image: choose another folder with --out", dir)
	}
	return nil
}

// store writes the image to a folder: name/ in the OCI layout, its archive name.tar, and the list of parts for each platform.
func (o options) store(image v1.ImageIndex, folder string) error {
	dir := filepath.Join(folder, o.name)
	if err := removeLayout(dir); err != nil {
		return err
	}
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The names that docker, podman and containerd give the image when they read the archive.
	names := map[string]string{
		"org.opencontainers.image.ref.name": o.version,
		"io.containerd.image.name":          "docker.io/library/" + o.name + ":" + o.version, // as they resolve a name without a registry
	}
	if err := written.AppendIndex(image, layout.WithAnnotations(names)); err != nil {
		return err
	}
	for _, p := range o.programs {
		if err := os.WriteFile(filepath.Join(folder, o.name+"-"+strings.ReplaceAll(p.platform.String(), "/", "-")+".cdx.json"), p.bom, 0o644); err != nil {
			return err
		}
	}
	return packFolder(dir, filepath.Join(folder, o.name+".tar"), o.created)
}
