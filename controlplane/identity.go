// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// An Identity distinguishes a data folder from its copies. It is created at the first start.
type Identity struct {
	ID     string `json:"id"`
	Folder string `json:"folder"` // where the data folder was at the last start, without symbolic links
}

// A CopyError reports a data folder that was copied from one that still exists: both would manage the same external resources.
type CopyError struct{ DataDir, Original string }

func (e *CopyError) Error() string {
	return fmt.Sprintf("%[1]s is a copy of %[2]s, and both would manage the same resources. Start %[2]s, or delete it if the copy is to "+
		"replace it. Delete only the folder itself: if its cloud/instances is a link, that leads to the data of the servers of both. "+
		"For a second control plane, run bowline backup FILE --data-dir %[2]s, and bowline restore FILE into an empty folder",
		e.DataDir, e.Original)
}

func identityPath(dataDir string) string { return filepath.Join(dataDir, "identity") }

// ReadIdentity returns the identity of a data folder, zero if it was never started.
func ReadIdentity(dataDir string) (i Identity, err error) {
	content, err := os.ReadFile(identityPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return i, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &i)
	}
	if err != nil {
		return i, fmt.Errorf("reading identity of data folder: %w", err)
	}
	return i, nil
}

// Exists reports whether the data folder of the identity exists where it was at its last start.
func (i Identity) Exists() bool {
	there, err := ReadIdentity(i.Folder)
	return err == nil && i.ID != "" && there.ID == i.ID
}

// refuseCopy returns a CopyError for a copy. A folder that was moved, or whose original is gone, is not a copy.
func refuseCopy(dataDir string) error {
	own, err := ReadIdentity(dataDir)
	if err != nil || !own.Exists() {
		return err
	}
	here, err := os.Stat(dataDir)
	if err != nil {
		return err
	}
	if there, err := os.Stat(own.Folder); err != nil || os.SameFile(here, there) {
		return err
	}
	return &CopyError{DataDir: dataDir, Original: own.Folder}
}

// recordIdentity stores the identity, and the folder if that changed. The folder is locked.
func recordIdentity(dataDir string) error {
	own, err := ReadIdentity(dataDir)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(dataDir)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil || own.ID != "" && own.Folder == folder {
		return err
	}
	if own.Folder = folder; own.ID == "" {
		own.ID = string(uuid.NewUUID())
	}
	content, err := json.Marshal(own)
	if err != nil {
		return err
	}
	return WriteFile(identityPath(dataDir), append(content, '\n'))
}
