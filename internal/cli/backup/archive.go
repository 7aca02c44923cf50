// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup writes the whole state of a running control plane into one archive, and restores it into an empty data folder.
//
// The archive is a compressed tar file. The store is copied first, then the data of the local cloud's servers, and then the list of
// objects that still exist: so what an object of the restored store stands for is in the data, or the object is deleted again. The last
// entry is a manifest with the checksums of all others.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/controlplane"
)

// Names of the entries.
const (
	manifestName  = "manifest.json"
	snapshotName  = "store/snapshot.db"
	survivorsName = "store/objects.json"
	cloudPrefix   = "cloud/"
	format        = 1 // of the archive
)

// A Manifest describes an archive.
type Manifest struct {
	Format   int                   `json:"format"`
	Created  time.Time             `json:"created"`
	Version  string                `json:"version"`           // of bowline
	Original controlplane.Identity `json:"original"`          // of the control plane
	Cloud    string                `json:"cloud,omitempty"`   // URL of the local cloud, if there was one
	Hosts    []string              `json:"hosts,omitempty"`   // names and addresses of the original's machine
	Skipped  []string              `json:"skipped,omitempty"` // instances of the local cloud that are not restored
	Files    map[string]string     `json:"files"`             // SHA-256 by name
}

// Missing returns a line about what was left out, empty for nothing.
func (m Manifest) Missing() string {
	if len(m.Skipped) == 0 {
		return ""
	}
	return "Without " + strings.Join(m.Skipped, ", ") + ", which --skip left out\n"
}

// writer adds entries and their checksums.
type writer struct {
	ctx        context.Context
	file       *target
	compressed *gzip.Writer
	entries    *tar.Writer
	sums       map[string]string
}

func newWriter(ctx context.Context, file *target) (*writer, error) {
	compressed, err := gzip.NewWriterLevel(file, gzip.BestSpeed)
	return &writer{ctx: ctx, file: file, compressed: compressed, entries: tar.NewWriter(compressed), sums: map[string]string{}}, err
}

// add adds an entry with the size of the header.
func (w *writer) add(header *tar.Header, content io.Reader) error {
	if err := w.entries.WriteHeader(header); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w.entries, sum), interruptible{content, w.ctx}); err != nil {
		return err
	}
	w.sums[header.Name] = hexSum(sum)
	return nil
}

func (w *writer) addFile(name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return w.add(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: info.Size()}, file)
}

// finish adds the manifest and writes everything to disk.
func (w *writer) finish(m Manifest) error {
	m.Files = w.sums
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := w.add(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text))}, strings.NewReader(string(text))); err != nil {
		return err
	}
	return errors.Join(w.entries.Close(), w.compressed.Close(), w.file.Sync(), w.file.Close())
}

func hexSum(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }

// reader reads the entries of an archive.
type reader struct {
	*tar.Reader
	file *os.File
}

func open(ctx context.Context, path string) (*reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := gzip.NewReader(interruptible{file, ctx})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s is not a backup: %w", path, err), file.Close())
	}
	return &reader{Reader: tar.NewReader(content), file: file}, nil
}

// Verify reads a whole archive and compares every checksum.
func Verify(ctx context.Context, path string) (m Manifest, err error) {
	r, err := open(ctx, path)
	if err != nil {
		return m, err
	}
	defer r.file.Close() // only read
	found, manifest := map[string]string{}, []byte(nil)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, fmt.Errorf("%s is damaged: %w", path, err)
		}
		sum := sha256.New()
		if header.Name == manifestName {
			manifest, err = io.ReadAll(r)
		} else if _, err = io.Copy(sum, r); err == nil {
			found[header.Name] = hexSum(sum)
		}
		if err != nil {
			return m, fmt.Errorf("%s is damaged: %s: %w", path, header.Name, err)
		}
	}
	if manifest == nil {
		return m, fmt.Errorf("%s is not a complete backup: it has no %s", path, manifestName)
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, fmt.Errorf("%s is damaged: %s: %w", path, manifestName, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("%s has format %d, of another version of bowline (%s)", path, m.Format, m.Version)
	}
	for name, sum := range m.Files {
		if found[name] != sum {
			return m, fmt.Errorf("%s is damaged: %s is missing or differs from its checksum", path, name)
		}
	}
	if len(found) != len(m.Files) {
		return m, fmt.Errorf("%s is damaged: it has files that are not in %s", path, manifestName)
	}
	return m, nil
}
