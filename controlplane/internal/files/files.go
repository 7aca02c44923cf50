// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package files writes files so that a crash leaves the old content or the new.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces a file in one step: a reader gets the old text or the new, also after a crash.
func Write(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // created with mode 0600
	if err != nil {
		return fmt.Errorf("creating temporary file: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("replacing %s: %w", path, err), os.Remove(f.Name()))
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("opening folder: %w", err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}
