// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockTimeout is how long a killed cloud may take to release the lock.
const lockTimeout = time.Second

// settingsBucket holds the settings by name. Values are text and not JSON.
const settingsBucket = "settings"

// Store is an open state file. It is safe for concurrent use.
type Store struct {
	db      *bbolt.DB
	pidPath string
}

// Open opens the state in a folder and creates it if there is none. If another process has it open, Open fails within about a
// second with an error that names the process.
func Open(folder string) (*Store, error) {
	s := &Store{pidPath: filepath.Join(folder, "pid")}
	db, err := bbolt.Open(filepath.Join(folder, "state.db"), 0o600, &bbolt.Options{Timeout: lockTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("opening state: %s is in use by another cloud%s", folder, s.holder())
	}
	if err != nil {
		return nil, fmt.Errorf("opening state: %w", err)
	}
	s.db = db
	if err := os.WriteFile(s.pidPath, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("opening state: %w", err), db.Close())
	}
	return s, nil
}

// holder returns the pid of the process that has the state open, if it is known.
func (s *Store) holder() string {
	content, err := os.ReadFile(s.pidPath)
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

// Close closes the file and releases its lock.
func (s *Store) Close() error {
	return errors.Join(os.Remove(s.pidPath), s.db.Close())
}

// Setting returns a setting of the whole cloud; empty if it was never set.
func (s *Store) Setting(name string) (value string, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		if settings := tx.Bucket([]byte(settingsBucket)); settings != nil {
			value = string(settings.Get([]byte(name)))
		}
		return nil
	})
	return value, err
}

// SetSetting sets a setting of the whole cloud.
func (s *Store) SetSetting(name, value string) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		settings, err := tx.CreateBucketIfNotExists([]byte(settingsBucket))
		if err != nil {
			return err
		}
		return settings.Put([]byte(name), []byte(value))
	})
}
