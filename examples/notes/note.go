// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bowline-dev/bowline/examples/notes/apis/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/kind"
)

// A note is a file, as a vendor's SDK would describe it.
type note struct {
	Path, Text, Mode string
	Size             int64
}

type request = kind.Request[v1alpha1.NoteParameters, note]

// notes are files in a folder.
func notes() kind.Kind[*os.Root, v1alpha1.NoteParameters, v1alpha1.NoteObservation, note] {
	return kind.Kind[*os.Root, v1alpha1.NoteParameters, v1alpha1.NoteObservation, note]{
		Identity: kind.ByName,
		Get:      get,
		Create: func(ctx context.Context, folder *os.Root, r *request) (*note, error) {
			if err := put(folder, r); err != nil {
				return nil, err
			}
			return get(ctx, folder, r)
		},
		Update: func(_ context.Context, folder *os.Root, r *request) error { return put(folder, r) },
		Delete: func(_ context.Context, folder *os.Root, r *request) error { return folder.Remove(r.Name) },
	}
}

func get(_ context.Context, folder *os.Root, r *request) (*note, error) {
	info, err := folder.Stat(r.Name)
	if err != nil {
		return nil, err
	}
	text, err := folder.ReadFile(r.Name)
	if err != nil {
		return nil, err
	}
	return &note{
		Path: filepath.Join(folder.Name(), r.Name),
		Text: string(text),
		Mode: fmt.Sprintf("%03o", info.Mode().Perm()),
		Size: info.Size(),
	}, nil
}

// put writes the fields that the object declares.
func put(folder *os.Root, r *request) error {
	if text := r.Parameters.Text; text != nil {
		if err := folder.WriteFile(r.Name, []byte(*text), 0o600); err != nil {
			return err
		}
	}
	if r.Parameters.Mode == nil {
		return nil
	}
	mode, err := strconv.ParseUint(*r.Parameters.Mode, 8, 32)
	if err != nil {
		return err
	}
	return folder.Chmod(r.Name, os.FileMode(mode))
}
