// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/bowline-dev/bowline/pkg/terraform/mirror"
)

// hashes are the checksums of binaries, as long as the files of their packages have the same names, sizes and times: a provider may have
// hundreds of megabytes.
type hashes map[string]hashed

type hashed struct {
	files string // what tells them from others
	sums  []string
}

// of returns checksumsOf a binary.
func (h hashes) of(binary string) ([]string, error) {
	files, err := fingerprint(filepath.Dir(binary))
	if err != nil {
		return nil, err
	}
	if known, has := h[binary]; has && known.files == files {
		return known.sums, nil
	}
	sums, err := checksumsOf(binary)
	if err == nil {
		h[binary] = hashed{files, sums}
	}
	return sums, err
}

// checksumsOf returns the checksums of a binary: its own, and those of its package and of the archive that this was in, where it was downloaded.
func checksumsOf(binary string) ([]string, error) {
	file, err := os.Open(binary)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return nil, err
	}
	sums := []string{"sha256:" + hex.EncodeToString(hash.Sum(nil))}
	if of, err := dirhash.HashDir(filepath.Dir(binary), "", dirhash.Hash1); err == nil {
		sums = append(sums, of)
		if archive := mirror.ArchiveChecksum(filepath.Dir(binary), of); archive != "" {
			sums = append(sums, archive)
		}
	}
	return sums, nil
}

// fingerprint describes the files in a folder without reading them.
func fingerprint(folder string) (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return all.String(), err
}
