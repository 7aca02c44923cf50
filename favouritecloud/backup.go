// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/cache"
	"github.com/bowline-dev/bowline/favouritecloud/internal/cluster"
	"github.com/bowline-dev/bowline/favouritecloud/internal/database"
	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const stateFile = "state.db"

// servers are the servers of a service.
type servers interface {
	Backup(ctx context.Context, skip []string, save func(folder, data string) error, waits func(cause string) error) error
	Failed(skip []string) error
	Paths() ([]string, error)
}

// backup writes the files of a backup as a tar archive: the admin token, the records, and then the data of each server, so that the
// data has whatever a client knew before the call. Entries in between say which server it waits for. The last entry has the error, if any.
func (f *folders) backup(ctx context.Context, w io.Writer, skip []string, services ...servers) error {
	archive := tar.NewWriter(w)
	err := checkSkipped(skip, services)
	if err == nil {
		err = f.writeRecords(archive)
	}
	for _, s := range services {
		if err == nil {
			err = s.Backup(ctx, skip, func(folder, data string) error {
				return addFiles(archive, path.Join(instancesLink, folder, "data"), data)
			}, func(cause string) error { return addFile(archive, sdk.BackupWait, cause) })
		}
	}
	var text string
	if err != nil {
		for _, s := range services { // all at once, rather than one with each attempt
			err = errors.Join(err, s.Failed(skip))
		}
		text = err.Error()
	}
	return errors.Join(err, addFile(archive, sdk.BackupEnd, text), archive.Close())
}

// checkSkipped refuses instances to skip that do not exist, such as misspelled ones: the backup would not say what it really lacks.
func checkSkipped(skip []string, services []servers) error {
	var known []string
	for _, s := range services {
		paths, err := s.Paths()
		if err != nil {
			return err
		}
		known = append(known, paths...)
	}
	for _, path := range skip {
		if !slices.Contains(known, path) {
			return fmt.Errorf("there is no instance %q to skip: correct or remove --skip", path)
		}
	}
	return nil
}

func addFile(archive *tar.Writer, name, content string) error {
	err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = io.WriteString(archive, content)
	}
	return err
}

func (f *folders) writeRecords(archive *tar.Writer) error {
	token, err := os.ReadFile(filepath.Join(f.data, adminTokenFile))
	if err != nil {
		return err
	}
	if err := addFile(archive, adminTokenFile, string(token)); err != nil {
		return err
	}
	return f.state.Copy(archive, func(size int64) error {
		return archive.WriteHeader(&tar.Header{Name: stateFile, Mode: 0o600, Size: size})
	})
}

// addFiles adds the folders and regular files of a copy that nothing changes any more. It follows no link out of the folder, where the
// account of the servers can write.
func addFiles(archive *tar.Writer, name, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() // only read
	return fs.WalkDir(root.FS(), ".", func(found string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		file, err := root.OpenFile(found, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // it may have become a link or a pipe
		if err != nil {
			return err
		}
		defer file.Close() // only read
		info, err := file.Stat()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(name, found), Mode: int64(info.Mode().Perm())}
		if info.IsDir() {
			header.Typeflag = tar.TypeDir
			return archive.WriteHeader(header)
		}
		header.Size = info.Size()
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = io.Copy(archive, file)
		return err
	})
}

// An Archive has the files of a backup, as a tar.Reader.
type Archive interface {
	Next() (*tar.Header, error)
	io.Reader
}

// Restored describes a restored cloud.
type Restored struct {
	Ports map[int]int // the new ports of the servers whose former ports are not kept
}

// Restore creates the data folder of a cloud, which must not exist, from a backup. The cloud has an identity of its own, so it can run
// beside the original. Servers keep their ports if keepPorts is true and the ports are free. After an interrupted
// Restore, call Remove and repeat it.
func Restore(c Config, archive Archive, keepPorts bool) (done Restored, err error) {
	if err := os.MkdirAll(c.DataDir, 0o711); err != nil {
		return done, err
	}
	var f *folders
	defer func() {
		if f != nil {
			err = errors.Join(err, f.close(false))
		}
	}()
	for {
		header, nextErr := archive.Next()
		if errors.Is(nextErr, io.EOF) {
			break
		}
		if nextErr != nil {
			return done, nextErr
		}
		if inData, ok := strings.CutPrefix(header.Name, instancesLink+"/"); ok {
			if f == nil {
				if f, err = openRestored(c); err != nil {
					return done, err
				}
			}
			err = f.extract(inData, header, archive)
		} else if header.Name == adminTokenFile || header.Name == stateFile {
			err = writeNew(filepath.Join(c.DataDir, header.Name), 0o600, archive)
		} else {
			err = errors.New("it is not a file of a cloud")
		}
		if err != nil {
			return done, fmt.Errorf("restoring %s: %w", header.Name, err)
		}
	}
	if f == nil {
		if f, err = openRestored(c); err != nil {
			return done, err
		}
	}
	done = Restored{Ports: map[int]int{}}
	moved := func(from, to int) { done.Ports[from] = to }
	env := service.Environment{Store: f.state, Folder: f.instances, Account: f.account, Log: slog.New(slog.DiscardHandler)}
	return done, errors.Join(database.New(env, nil, 1).Restored(keepPorts, moved), cache.New(env, nil).Restored(keepPorts, moved),
		cluster.New(env, nil).Restored(keepPorts, moved), host.Sync(f.instances))
}

// Remove deletes the data folder of a cloud that does not run, with its instances. Instances of another cloud stay.
func Remove(dataDir string) error {
	if instances, err := os.Readlink(filepath.Join(dataDir, instancesLink)); err == nil {
		state, err := openState(dataDir)
		if err != nil {
			return err
		}
		f := &folders{data: dataDir, instances: instances, state: state}
		if err := errors.Join(f.removeInstances(), state.Close()); err != nil {
			return fmt.Errorf("deleting %s: %w", instances, err)
		}
	}
	return os.RemoveAll(dataDir)
}

// openRestored opens the records, which get another identity: that of the backup belongs to the original, and becomes the end of this one,
// so that clients who know the original recognize its copy.
func openRestored(c Config) (*folders, error) {
	state, err := openState(c.DataDir)
	if err != nil {
		return nil, err
	}
	err = state.Write(func(tx *store.Tx) error {
		original, err := identities.Get(tx, "", "cloud")
		if errors.Is(err, store.ErrNotFound) { // a backup of an earlier version
			return nil
		}
		return errors.Join(err, identities.Put(tx, "", "cloud", rand.Text()+"/"+original))
	})
	if err := errors.Join(err, state.Close()); err != nil {
		return nil, err
	}
	return openFolders(c.withDefaults())
}

// extract writes a file or folder of an instance, which the account of the servers owns.
func (f *folders) extract(name string, header *tar.Header, content io.Reader) error {
	folder, inData, ok := strings.Cut(name, "/")
	if !ok || !filepath.IsLocal(filepath.FromSlash(name)) || inData != "data" && !strings.HasPrefix(inData, "data/") {
		return errors.New("the name is not valid")
	}
	target := filepath.Join(f.instances, filepath.FromSlash(name))
	if header.Typeflag == tar.TypeDir {
		if err := errors.Join(os.MkdirAll(target, 0o700), os.Chmod(target, fs.FileMode(header.Mode).Perm())); err != nil {
			return err
		}
		if inData == "data" { // as in host.Folder
			if err := os.Chmod(filepath.Join(f.instances, folder), 0o711); err != nil {
				return err
			}
		}
		return f.account.Own(target)
	}
	return errors.Join(writeNew(target, fs.FileMode(header.Mode).Perm(), content), f.account.Own(target))
}

// writeNew writes a file that does not exist.
func writeNew(target string, mode fs.FileMode, content io.Reader) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
