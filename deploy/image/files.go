// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// A file is one of an image, or a folder if its mode says so.
type file struct {
	path    string // absolute in an image
	mode    fs.FileMode
	owner   int
	content []byte
}

// baseFiles are what any program expects of a system.
func baseFiles() []file {
	users := fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%[1]d:%[1]d:nonroot:%[2]s:/sbin/nologin\n", account, home)
	groups := fmt.Sprintf("root:x:0:\nnonroot:x:%d:\n", account)
	return []file{
		{path: "/etc/passwd", mode: 0o644, content: []byte(users)},
		{path: "/etc/group", mode: 0o644, content: []byte(groups)},
		{path: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities()},
		{path: home, mode: 0o700 | fs.ModeDir, owner: account},
		{path: "/tmp", mode: 0o777 | fs.ModeDir | fs.ModeSticky},
	}
}

// authorities are the certificate authorities that Mozilla trusts, as PEM. It trusts some only for certificates issued before a date, which
// PEM cannot express: these are left out.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return all.Bytes()
}

// layer packs files, and the folders that they are in.
func (o options) layer(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	w, folders := tar.NewWriter(&packed), map[string]bool{"/": true}
	for _, f := range files {
		for _, folder := range parents(f.path) {
			if !folders[folder] {
				folders[folder] = true
				if err := pack(w, file{path: folder, mode: 0o755 | fs.ModeDir}, o.created); err != nil {
					return nil, err
				}
			}
		}
		folders[f.path] = f.mode.IsDir()
		if err := pack(w, f, o.created); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// parents are the folders above a path, the outermost first.
func parents(file string) (all []string) {
	for dir := path.Dir(file); dir != "/"; dir = path.Dir(dir) {
		all = append([]string{dir}, all...)
	}
	return all
}

// pack writes a file to an archive with nothing that depends on the machine.
func pack(w *tar.Writer, f file, modified time.Time) error {
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.path, "/"), Size: int64(len(f.content)), Mode: int64(f.mode.Perm()),
		Uid: f.owner, Gid: f.owner, ModTime: modified,
	}
	if f.mode.IsDir() {
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
	}
	if f.mode&fs.ModeSticky != 0 {
		header.Mode |= 0o1000 // as in tar's format
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(f.content)
	return err
}

// packFolder writes an archive of the files in a folder.
func packFolder(folder, archive string, modified time.Time) error {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer out.Close() // again, after a failure
	w, from := tar.NewWriter(out), os.DirFS(folder)
	err = fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		f := file{path: name, mode: 0o644}
		if entry.IsDir() {
			f.mode = 0o755 | fs.ModeDir
		} else if f.content, err = fs.ReadFile(from, name); err != nil {
			return err
		}
		return pack(w, f, modified)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Close()
}
