// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Recover corrects the records before the API shows them, and removes the folders of this service that have no record.
func (f *Fleet[R, P]) Recover(ctx context.Context) error {
	records, err := f.records.All()
	if err != nil {
		return fmt.Errorf("reading instances: %w", err)
	}
	known := map[string]bool{}
	for _, r := range records {
		i := P(&r).Common()
		known[f.folderName(i.ID)] = true
		if err := f.correct(ctx, r, i); err != nil {
			return fmt.Errorf("recovering instance %q: %w", i.Name, err)
		}
	}
	folders, err := os.ReadDir(f.Folder)
	if err != nil {
		return fmt.Errorf("listing instance folders: %w", err)
	}
	for _, folder := range folders {
		if !strings.HasPrefix(folder.Name(), f.Service+"-") || known[folder.Name()] {
			continue
		}
		f.Log.Info("removing leftover folder", "folder", folder.Name())
		leftover := f.NewServer(Site[R]{Folder: filepath.Join(f.Folder, folder.Name()), Log: f.Log})
		if err := leftover.Remove(ctx); err != nil {
			return fmt.Errorf("removing leftover folder %s: %w", folder.Name(), err)
		}
	}
	return nil
}

// correct changes the status of an instance that is ONLINE while its server is down.
func (f *Fleet[R, P]) correct(ctx context.Context, record R, i *store.Instance) error {
	if i.Status != sdk.StatusOnline {
		return nil
	}
	running, err := f.server(i.ID).Running(ctx, record)
	if err != nil || running {
		return err
	}
	_, err = f.records.Update(i.ID, func(r *R) error {
		i := P(r).Common()
		i.Status, i.Message = sdk.StatusFailed, "the cloud was restarted; restarting the server"
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
