// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Files of the data folder that commands read.
const (
	adminTokenFile = "admin.token"
	endpointFile   = "endpoint"
	portFile       = "port" // of the last endpoint
)

const instancesLink = "instances"

// ReadAdminToken returns the admin token of the cloud that uses a data folder.
func ReadAdminToken(dataDir string) (string, error) { return read(dataDir, adminTokenFile) }

// ReadEndpoint returns the URL of the cloud that uses a data folder. The error is fs.ErrNotExist when none runs; a killed cloud
// leaves its last URL.
func ReadEndpoint(dataDir string) (string, error) { return read(dataDir, endpointFile) }

func read(dataDir, name string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dataDir, name))
	if err != nil {
		return "", fmt.Errorf("reading %s of the cloud: %w", name, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// InstancesElsewhere returns the folder of a cloud's instances if there is one outside of its data folder, else "".
func InstancesElsewhere(dataDir string) string {
	instances, err := os.Readlink(filepath.Join(dataDir, instancesLink))
	if err == nil {
		_, err = os.Stat(instances)
	}
	if err != nil {
		return ""
	}
	return instances
}

// folders are the folders and files of a running cloud.
type folders struct {
	data           string
	id             string // of the cloud
	instances      string
	state          *store.Store
	lock           *os.File // of the instances
	account        host.Account
	adminTokenHash [sha256.Size]byte
}

// openFolders creates and locks the data folder.
func openFolders(c Config) (*folders, error) {
	// For root, other accounts may enter but not list it, since servers run as another account. The mode of an existing folder is
	// not changed.
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	data, err := makeFolder(c.DataDir, mode)
	if err != nil {
		return nil, fmt.Errorf("creating data folder: %w", err)
	}
	f := &folders{data: data}
	if f.state, err = openState(data); err != nil {
		return nil, err
	}
	if err := f.prepare(c); err != nil {
		return nil, errors.Join(err, f.state.Close())
	}
	return f, nil
}

// openState opens the state, which a folder with an admin token must have: the token is created after it.
func openState(data string) (*store.Store, error) {
	_, err := os.Lstat(filepath.Join(data, adminTokenFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return store.Open(data, err == nil)
}

func (f *folders) prepare(c Config) (err error) {
	if f.account, err = host.FindAccount(); err != nil {
		return err
	}
	if f.instances, err = f.chooseInstances(c.InstanceDir); err != nil {
		return fmt.Errorf("choosing instance folder: %w", err)
	}
	if f.adminTokenHash, err = f.adminToken(); err != nil {
		return err
	}
	if err := f.takeInstances(); err != nil {
		return err
	}
	return f.linkInstances()
}

// close releases everything. The endpoint stays while servers run.
func (f *folders) close(running bool) (err error) {
	if !running {
		err = os.Remove(filepath.Join(f.data, endpointFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.releaseInstances(), f.state.Close())
}

// adminToken returns the hash of the admin token, which it creates at the first start.
func (f *folders) adminToken() ([sha256.Size]byte, error) {
	token, err := ReadAdminToken(f.data)
	if errors.Is(err, fs.ErrNotExist) {
		random := make([]byte, 24)
		rand.Read(random) // never fails
		token = "fca_" + hex.EncodeToString(random)
		err = writeFile(filepath.Join(f.data, adminTokenFile), token+"\n")
	}
	if err == nil && token == "" {
		err = fmt.Errorf("admin token file %s is empty: delete it and restart the cloud to get a new token",
			filepath.Join(f.data, adminTokenFile))
	}
	return sha256.Sum256([]byte(token)), err
}

// chooseInstances returns the folder of the instances. It is chosen at the first start and never changes: instances in the data
// folder is that folder, or a link to it.
func (f *folders) chooseInstances(configured string) (string, error) {
	link := filepath.Join(f.data, instancesLink)
	kept, err := os.Readlink(link)
	if info, statErr := os.Lstat(link); statErr == nil && info.IsDir() {
		kept = link
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	chosen := cmp.Or(configured, kept)
	if chosen == "" {
		reachable, err := f.account.CanReach(link)
		if err != nil {
			return "", err
		}
		if chosen = link; !reachable {
			hash := sha256.Sum256([]byte(f.data))
			chosen = "/var/lib/favouritecloud-" + hex.EncodeToString(hash[:6])
		}
	}
	if chosen, err = makeFolder(chosen, 0o711); err != nil {
		return "", err
	}
	if kept != "" && chosen != kept {
		return "", fmt.Errorf("%s cannot be used: the instances of this cloud are in %s", chosen, kept)
	}
	if err := os.Chmod(chosen, 0o711); err != nil { // The umask may have removed access for the account of the servers.
		return "", err
	}
	reachable, err := f.account.CanReach(chosen)
	if err != nil {
		return "", err
	}
	if !reachable {
		return "", fmt.Errorf("account %s of the servers cannot reach %s: choose another folder, or allow other accounts to enter its "+
			"parent folders (chmod o+x)", f.account.Name, chosen)
	}
	return chosen, nil
}

// linkInstances records the folder of the instances once it is known to be this cloud's: Remove deletes what the link names.
func (f *folders) linkInstances() error {
	err := os.Symlink(f.instances, filepath.Join(f.data, instancesLink))
	if errors.Is(err, fs.ErrExist) {
		return nil // it is the folder, or an earlier start created the link
	}
	return err
}

// makeFolder creates a folder unless it exists, and returns its absolute path without symbolic links, as /proc shows it.
func makeFolder(path string, mode os.FileMode) (string, error) {
	if err := os.MkdirAll(path, mode); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// writeFile writes a private file atomically, also in case of a crash.
func writeFile(path, content string) error {
	temporary := path + ".new"
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
