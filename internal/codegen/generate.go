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
	Base  string            // folder that paths are relative to
	Files map[string][]byte // by path; nil for one that an earlier run generated and that is obsolete
}

// Generate returns the generated files of all packages below the folders, which are absolute or relative to base. The error has
// all problems of the source, one per line, with file, line and column.
func Generate(ctx context.Context, base string, folders ...string) (*Output, error) {
	if len(folders) == 0 {
		return nil, errors.New("name the folder of the API types: usually that is ./apis")
	}
	out := &Output{Base: base, Files: map[string][]byte{}}
	for _, folder := range folders {
		files, err := generate(ctx, base, strings.TrimSuffix(filepath.ToSlash(folder), "/..."))
		if err != nil {
			return nil, err
		}
		maps.Copy(out.Files, files)
	}
	return out, nil
}

func generate(ctx context.Context, base, folder string) (map[string][]byte, error) {
	if filepath.IsAbs(folder) {
		absolute, err := filepath.Abs(base)
		if err != nil {
			return nil, err
		}
		if folder, err = filepath.Rel(absolute, folder); err != nil {
			return nil, err
		}
	}
	api, err := model.Load(base, folder)
	if err != nil {
		return nil, fmt.Errorf("reading the API below %s: %w", folder, err)
	}
	if err := lint.Check(api); err != nil {
		return nil, err
	}
	files, err := source.Files(api)
	if err != nil {
		return nil, fmt.Errorf("writing Go for %s: %w", folder, err)
	}
	before, err := written(base, api.Dir)
	if err != nil {
		return nil, err
	}
	over := maps.Clone(files)
	for name, text := range before {
		if over[name] == nil && strings.HasSuffix(name, ".go") {
			over[name] = packageClause(text) // As if it were deleted.
		}
	}
	rest, err := definition.Files(ctx, api, over)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, rest)
	for name := range before {
		if files[name] == nil {
			files[name] = nil
		}
	}
	return files, nil
}

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
	var differ []string
	for name, want := range o.Files {
		have, err := os.ReadFile(filepath.Join(o.Base, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if (err != nil) != (want == nil) || !bytes.Equal(have, want) {
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
		text := o.Files[name]
		if text == nil {
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

// Command implements `bowline generate`. It prints the files that changed; with check, it writes none and fails if any would.
func Command(ctx context.Context, to io.Writer, base string, check bool, folders ...string) error {
	out, err := Generate(ctx, base, folders...)
	if err != nil {
		return err
	}
	process := out.Write
	if check {
		process = out.Differences
	}
	differ, err := process()
	for _, name := range differ {
		fmt.Fprintln(to, name)
	}
	if err != nil || !check || len(differ) == 0 {
		return err
	}
	return fmt.Errorf("%d generated files are not up to date: run bowline generate without --check and commit what it writes", len(differ))
}
