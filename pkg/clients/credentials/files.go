// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A file is one that a ProviderConfig refers to.
type file struct {
	folder, name string
	content      [sha256.Size]byte // a hash; zero for a file that cannot be read
	lastRead     time.Time         // for a ProviderConfig
}

// maxFileSize of credentials in bytes: as much as a Secret.
const maxFileSize = 1 << 20

// fromFile opens its folder as a root, so that no symbolic link leads out of it.
func (s *Secrets) fromFile(fs *xpv1.FsSelector) ([]byte, error) {
	if fs == nil {
		return nil, errors.New("credentials source Filesystem needs fs with the path of a file")
	}
	for _, folder := range s.folders {
		within, err := filepath.Rel(folder, fs.Path)
		if err != nil || !filepath.IsLocal(within) || !filepath.IsAbs(fs.Path) {
			continue
		}
		value, err := read(folder, within)
		s.mu.Lock()
		if s.files[fs.Path] == nil {
			s.files[fs.Path] = &file{folder: folder, name: within, content: hash(value)}
		}
		s.files[fs.Path].lastRead = s.now()
		s.mu.Unlock()
		if err != nil {
			return nil, fmt.Errorf("reading credentials from file %q of the controller: %w", fs.Path, err)
		}
		return value, nil
	}
	return nil, fmt.Errorf("file %q is not offered to ProviderConfigs: allow its folder where the controller is set up, "+
		"by option credentials.WithFolders of the provider", fs.Path)
}

// watchFiles calls back about changes of the files in use until the context ends.
func (s *Secrets) watchFiles(ctx context.Context) {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		listeners, files := slices.Clone(s.listeners), maps.Clone(s.files)
		s.mu.Unlock()
		for path, f := range files {
			value, _ := read(f.folder, f.name)
			content := hash(value)
			s.mu.Lock()
			changed := content != f.content
			if f.content = content; s.now().Sub(f.lastRead) >= idle {
				delete(s.files, path)
			}
			s.mu.Unlock()
			for _, callback := range listeners {
				if changed {
					callback(types.NamespacedName{Name: path})
				}
			}
		}
	}
}

// hash is zero for no value.
func hash(value []byte) (sum [sha256.Size]byte) {
	if len(value) > 0 {
		sum = sha256.Sum256(value)
	}
	return sum
}

func read(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, errors.New("it is not a regular file")
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	value, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	switch {
	case err != nil:
		return nil, err
	case len(value) == 0:
		return nil, errors.New("it is empty")
	case len(value) > maxFileSize:
		return nil, fmt.Errorf("it has more than %d bytes", maxFileSize)
	}
	return value, nil
}
