// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/internal/codegen/definition"
	"github.com/bowline-dev/bowline/internal/codegen/lint"
	"github.com/bowline-dev/bowline/internal/codegen/model"
	"github.com/bowline-dev/bowline/internal/codegen/source"
)

// An Output is the generated files of some APIs.
type Output struct {
	// Base is the folder that paths are relative to.
	Base string
	// Files by path.
	Files map[string][]byte
	// Stale are the paths of files that an earlier run generated and that are obsolete, sorted.
	Stale []string
}

// Generate returns the generated files of APIs, without writing them. Folders are absolute or relative to base. All packages below them
// are read, with and without the suffix "/...". The error contains all problems of the source, one per line, with file, line and
// column.
func Generate(ctx context.Context, base string, folders ...string) (*Output, error) {
	if len(folders) == 0 {
		return nil, errors.New("name the folder of the API types: usually that is ./apis")
	}
	out := &Output{Base: base, Files: map[string][]byte{}}
	for _, folder := range folders {
		if err := out.add(ctx, strings.TrimSuffix(filepath.ToSlash(folder), "/...")); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (o *Output) add(ctx context.Context, folder string) error {
	if filepath.IsAbs(folder) {
		base, err := filepath.Abs(o.Base)
		if err != nil {
			return err
		}
		if folder, err = filepath.Rel(base, folder); err != nil {
			return err
		}
	}
	api, err := model.Load(o.Base, folder)
	if err != nil {
		return fmt.Errorf("reading the API below %s: %w", folder, err)
	}
	if err := lint.Check(api); err != nil {
		return err
	}
	files, err := source.Files(api)
	if err != nil {
		return fmt.Errorf("writing Go for %s: %w", folder, err)
	}
	stale, err := written(o.Base, api.Dir)
	if err != nil {
		return err
	}
	over := maps.Clone(files)
	for name, text := range stale {
		if _, wanted := files[name]; !wanted && strings.HasSuffix(name, ".go") {
			over[name] = packageClause(text) // As if it were deleted.
		}
	}
	rest, err := definition.Files(ctx, api, over)
	if err != nil {
		return err
	}
	maps.Copy(files, rest)
	for name := range stale {
		if _, wanted := files[name]; !wanted {
			o.Stale = append(o.Stale, name)
		}
	}
	slices.Sort(o.Stale)
	maps.Copy(o.Files, files)
	return nil
}

// written returns the generated files below a folder.
func written(base, dir string) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(base, dir), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		definition := filepath.Ext(name) == ".yaml" && filepath.Base(filepath.Dir(name)) == "crds"
		if !definition && !strings.HasPrefix(entry.Name(), "zz_generated.") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(base, name)
		if err == nil && isOurs(entry.Name(), text) {
			found[below] = text
		}
		return err
	})
	return found, err
}

// isOurs is true for files that a run may delete: its own, and those of controller-gen.
func isOurs(name string, text []byte) bool {
	return name == "zz_generated.deepcopy.go" || bytes.Contains(text, []byte(model.GeneratedBy)) ||
		filepath.Ext(name) == ".yaml" && bytes.Contains(text, []byte("controller-gen.kubebuilder.io/version"))
}

func packageClause(text []byte) []byte {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("package ")) {
			return line
		}
	}
	return nil
}

// Differences returns the paths of files that are missing, obsolete or different, sorted.
func (o *Output) Differences() ([]string, error) {
	differ := slices.Clone(o.Stale)
	for name, want := range o.Files {
		have, err := os.ReadFile(filepath.Join(o.Base, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(have, want) {
			differ = append(differ, name)
		}
	}
	slices.Sort(differ)
	return differ, nil
}

// Write writes the files, deletes the obsolete ones, and returns the paths of all that changed, sorted.
func (o *Output) Write() ([]string, error) {
	changed, err := o.Differences()
	if err != nil {
		return nil, err
	}
	for _, name := range changed {
		at := filepath.Join(o.Base, name)
		text, wanted := o.Files[name]
		if !wanted {
			if err := os.Remove(at); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(at, text, 0o644); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// Command implements `bowline generate`: it writes the generated files of the folders and prints the names of those that changed. With
// check, it writes nothing and fails if any would change.
func Command(ctx context.Context, to io.Writer, base string, check bool, folders ...string) error {
	out, err := Generate(ctx, base, folders...)
	if err != nil {
		return err
	}
	if !check {
		changed, err := out.Write()
		for _, name := range changed {
			fmt.Fprintln(to, name)
		}
		return err
	}
	differ, err := out.Differences()
	if err != nil || len(differ) == 0 {
		return err
	}
	for _, name := range differ {
		fmt.Fprintln(to, name)
	}
	return fmt.Errorf("%d generated files are not up to date: run bowline generate without --check and commit what it writes", len(differ))
}
