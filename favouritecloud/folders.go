// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Files of the data folder that commands read.
const (
	adminTokenFile = "admin.token"
	endpointFile   = "endpoint"
)

const (
	instancesLink      = "instances"
	instanceDirSetting = "instance-dir"
)

// ReadAdminToken returns the admin token of the cloud that uses a data folder.
func ReadAdminToken(dataDir string) (string, error) {
	token, err := os.ReadFile(filepath.Join(dataDir, adminTokenFile))
	if err != nil {
		return "", fmt.Errorf("reading admin token: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}

// ReadEndpoint returns the URL of the cloud that uses a data folder. The error satisfies fs.ErrNotExist when none runs;
// a cloud that was killed leaves its last URL.
func ReadEndpoint(dataDir string) (string, error) {
	url, err := os.ReadFile(filepath.Join(dataDir, endpointFile))
	if err != nil {
		return "", fmt.Errorf("reading endpoint: %w", err)
	}
	return strings.TrimSpace(string(url)), nil
}

// folders is what a running cloud has open on disk.
type folders struct {
	data           string
	instances      string
	state          *store.Store
	account        account.Account
	adminTokenHash [sha256.Size]byte
}

// openFolders makes and locks the data folder.
func openFolders(c Config) (*folders, error) {
	// For root, others may pass through, as the servers' account must, but not look around. An existing folder stays as
	// it is.
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(c.DataDir, mode); err != nil {
		return nil, fmt.Errorf("making data folder: %w", err)
	}
	data, err := realPath(c.DataDir)
	if err != nil {
		return nil, fmt.Errorf("making data folder: %w", err)
	}
	f := &folders{data: data}
	if f.state, err = store.Open(data); err != nil {
		return nil, err
	}
	if err := f.prepare(c); err != nil {
		return nil, errors.Join(err, f.state.Close())
	}
	return f, nil
}

func (f *folders) prepare(c Config) (err error) {
	if f.account, err = account.Find(); err != nil {
		return err
	}
	if f.instances, err = f.chooseInstances(c.InstanceDir); err != nil {
		return err
	}
	f.adminTokenHash, err = f.adminToken()
	return err
}

// close gives everything back. The folder of the instances goes when it is empty and apart from the data folder, since
// whoever removes that one would not think of it.
func (f *folders) close() error {
	err := os.Remove(filepath.Join(f.data, endpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if f.instances != filepath.Join(f.data, instancesLink) {
		_ = os.Remove(f.instances) // Refused when instances live there, as it should be.
	}
	return errors.Join(err, f.state.Close())
}

// adminToken returns the hash of the admin token, which it makes at the first start.
func (f *folders) adminToken() ([sha256.Size]byte, error) {
	token, err := ReadAdminToken(f.data)
	if errors.Is(err, fs.ErrNotExist) {
		random := make([]byte, 24)
		rand.Read(random) //nolint:errcheck // Documented never to fail.
		token = "fca_" + hex.EncodeToString(random)
		err = writeFile(filepath.Join(f.data, adminTokenFile), token+"\n")
	}
	if err == nil && token == "" {
		err = fmt.Errorf("admin token file %s is empty: remove it to get a new token", filepath.Join(f.data, adminTokenFile))
	}
	return sha256.Sum256([]byte(token)), err
}

// chooseInstances returns the folder of the instances, which is chosen once and for all: their data is there.
func (f *folders) chooseInstances(configured string) (string, error) {
	kept, err := f.state.Setting(instanceDirSetting)
	if err != nil {
		return "", fmt.Errorf("choosing instance folder: %w", err)
	}
	if kept != "" && !filepath.IsAbs(kept) {
		kept = filepath.Join(f.data, kept) // So that the data folder can be moved.
	}
	chosen := kept
	if configured != "" {
		if chosen, err = filepath.Abs(configured); err != nil {
			return "", fmt.Errorf("choosing instance folder: %w", err)
		}
	} else if kept == "" {
		if chosen, err = f.defaultInstances(); err != nil {
			return "", fmt.Errorf("choosing instance folder: %w", err)
		}
	}
	if err := os.MkdirAll(chosen, 0o711); err != nil {
		return "", fmt.Errorf("making instance folder: %w", err)
	}
	if chosen, err = realPath(chosen); err != nil {
		return "", fmt.Errorf("making instance folder: %w", err)
	}
	if kept != "" && chosen != kept {
		return "", fmt.Errorf("instance folder %s was asked for, but the instances of this cloud live in %s", chosen, kept)
	}
	return chosen, f.keepInstances(chosen)
}

// defaultInstances prefers the data folder, if the account that servers run as can get there.
func (f *folders) defaultInstances() (string, error) {
	inside := filepath.Join(f.data, instancesLink)
	reachable, err := f.account.CanReach(inside)
	if err != nil || reachable {
		return inside, err
	}
	hash := sha256.Sum256([]byte(f.data))
	return "/var/lib/favouritecloud-" + hex.EncodeToString(hash[:6]), nil
}

// keepInstances checks, opens and records the folder of the instances.
func (f *folders) keepInstances(chosen string) error {
	if err := os.Chmod(chosen, 0o711); err != nil { // The umask may have taken away the way in.
		return fmt.Errorf("making instance folder: %w", err)
	}
	reachable, err := f.account.CanReach(chosen)
	if err != nil {
		return fmt.Errorf("making instance folder: %w", err)
	}
	if !reachable {
		return fmt.Errorf("account %s, which servers run as, cannot reach the instance folder %s: choose another one, or let others enter the folders above it (chmod o+x)", f.account.Name, chosen)
	}
	link := filepath.Join(f.data, instancesLink)
	if chosen == link {
		return f.state.SetSetting(instanceDirSetting, instancesLink)
	}
	if err := os.Symlink(chosen, link); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("linking instance folder: %w", err)
	}
	return f.state.SetSetting(instanceDirSetting, chosen)
}

// realPath returns the absolute path without symbolic links, as the system shows it for running processes.
func realPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// writeFile writes a private file so that it is there whole or not at all, also after a crash.
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
