// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// folderPrefix marks the folders that are ours to remove.
const folderPrefix = "database-"

func folderName(id int) string { return folderPrefix + strconv.Itoa(id) }

func (s *Service) cluster(id int) *postgres.Cluster {
	return postgres.NewCluster(filepath.Join(s.Folder, folderName(id)), s.Account)
}

// Recover makes the records true before anybody reads them, and removes what no record knows.
func (s *Service) Recover(ctx context.Context) error {
	records, err := s.Store.Instances()
	if err != nil {
		return fmt.Errorf("reading instances: %w", err)
	}
	known := map[string]bool{}
	for _, r := range records {
		known[folderName(r.ID)] = true
		if err := s.correct(r); err != nil {
			return fmt.Errorf("recovering instance %q: %w", r.Name, err)
		}
	}
	folders, err := os.ReadDir(s.Folder)
	if err != nil {
		return fmt.Errorf("looking for leftovers: %w", err)
	}
	for _, f := range folders {
		if !strings.HasPrefix(f.Name(), folderPrefix) || known[f.Name()] {
			continue
		}
		s.Log.Info("removing leftover folder", "folder", f.Name())
		if err := postgres.NewCluster(filepath.Join(s.Folder, f.Name()), s.Account).Remove(ctx); err != nil {
			return fmt.Errorf("removing leftover folder %s: %w", f.Name(), err)
		}
	}
	return nil
}

// correct keeps an instance from being called online while its server is down.
func (s *Service) correct(record store.Instance) error {
	if record.Status != api.StatusOnline {
		return nil
	}
	running, err := s.cluster(record.ID).Running()
	if err != nil {
		return err
	}
	if running != nil {
		running.Release()
		return nil
	}
	_, err = s.Store.UpdateInstance(record.ID, func(i *store.Instance) error {
		i.Status, i.Message = api.StatusFailed, "the cloud was restarted; restarting the server"
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
