// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// ownerFile is in the folder of the instances. It names the cloud whose records describe them, and is locked while that runs: another
// cloud would delete the instances that it has no records of, and a copy of the cloud would use the same servers.
const ownerFile = "owner"

const identities store.Table[string] = "identity"

type owner struct {
	ID   string `json:"id"`   // of the cloud
	Data string `json:"data"` // its data folder
}

// takeInstances locks the folder of the instances. It refuses those of another cloud, and those of a cloud of which this is a copy.
func (f *folders) takeInstances() (err error) {
	if f.id, err = f.identity(); err != nil {
		return err
	}
	own := owner{ID: f.id, Data: f.data}
	if err := f.lockInstances(os.O_CREATE); err != nil {
		return err
	}
	if err := f.checkOwner(own); err != nil {
		return errors.Join(err, f.lock.Close())
	}
	content, err := json.Marshal(own)
	if err == nil {
		_, err = f.lock.WriteAt(content, 0)
	}
	if err == nil {
		err = f.lock.Sync()
	}
	if err == nil { // last, so that the file is never empty: another file in its place would not be locked
		err = f.lock.Truncate(int64(len(content)))
	}
	return err
}

// identity returns the id of this cloud, which it creates at the first start.
func (f *folders) identity() (id string, err error) {
	err = f.state.Write(func(tx *store.Tx) (err error) {
		if id, err = identities.Get(tx, "", "cloud"); errors.Is(err, store.ErrNotFound) {
			id = rand.Text()
			err = identities.Put(tx, "", "cloud", id)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading identity: %w", err)
	}
	return id, nil
}

func (f *folders) lockInstances(flags int) (err error) {
	if f.lock, err = os.OpenFile(filepath.Join(f.instances, ownerFile), os.O_RDWR|flags, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return errors.Join(fmt.Errorf("the servers in %s are in use by another cloud: %w", f.instances, err), f.lock.Close())
	}
	return nil
}

// readOwner reads the owner. A killed cloud may have left the end of a longer one after it. An empty or unfinished file, which is from a
// first start, has none.
func readOwner(file io.Reader) (o owner, err error) {
	content, err := io.ReadAll(file)
	if json.NewDecoder(bytes.NewReader(content)).Decode(&o) != nil {
		o = owner{}
	}
	return o, err
}

func (f *folders) checkOwner(own owner) error {
	former, err := readOwner(f.lock)
	if err != nil || former == own || former == (owner{}) {
		return err
	}
	used, err := f.hasInstances()
	if err != nil || !used {
		return err
	}
	if former.ID != own.ID {
		return fmt.Errorf("the servers in %[1]s belong to another cloud, of which this cloud has no records; its data folder was %[2]s at its "+
			"last start, and may have been moved since: choose another data folder for this cloud, or delete %[1]s if that cloud was deleted",
			f.instances, former.Data)
	}
	file, err := os.Open(filepath.Join(former.Data, instancesLink, ownerFile))
	if err != nil {
		return nil // the data folder was moved
	}
	defer file.Close() // only read
	if other, err := readOwner(file); err != nil || other.ID != own.ID {
		return nil
	}
	here, hereErr := os.Stat(f.data)
	there, thereErr := os.Stat(former.Data)
	if err := errors.Join(hereErr, thereErr); err != nil || os.SameFile(here, there) {
		return err
	}
	return fmt.Errorf("%[1]s is a copy of %[2]s, which has the servers in %[3]s: start that one, or delete it if the copy is to replace it. "+
		"Delete only the folder itself: if its %[4]s is a link, that leads to the data of the servers of both",
		f.data, former.Data, f.instances, instancesLink)
}

func (f *folders) hasInstances() (bool, error) {
	entries, err := os.ReadDir(f.instances)
	for _, e := range entries {
		if e.IsDir() && strings.Contains(e.Name(), "-") {
			return true, err
		}
	}
	return false, err
}

// releaseInstances deletes an empty folder outside of the data folder: users that delete the data folder would leave it behind.
func (f *folders) releaseInstances() error {
	if f.lock == nil {
		return nil
	}
	if used, err := f.hasInstances(); err == nil && !used && f.instances != filepath.Join(f.data, instancesLink) {
		_ = os.Remove(f.lock.Name())
		_ = os.Remove(f.instances) // Fails if it is not empty.
	}
	return f.lock.Close()
}

// removeInstances deletes the folder of the instances if it belongs to this cloud. The owner is the last, so that it can be repeated.
func (f *folders) removeInstances() error {
	if err := f.lockInstances(0); errors.Is(err, fs.ErrNotExist) {
		return nil // deleted already
	} else if err != nil {
		return err
	}
	defer f.lock.Close() // only read
	id, err := f.identity()
	if err != nil {
		return err
	}
	if found, err := readOwner(f.lock); err != nil || found.ID != id {
		return nil // another cloud's
	}
	entries, err := os.ReadDir(f.instances)
	for _, e := range entries {
		if e.Name() != ownerFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(f.instances, e.Name())))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(f.instances)
}
