// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// MarkFile is in the data of every server, which it tells from that of all others: the name of the server's folder and its mark. It stays
// with the data in copies, backups and moves. What PostgreSQL itself knows about its data is equal in copies for two servers.
const MarkFile = "favouritecloud-instance"

// label is the content of the file. Without a mark, it is how the content begins.
func (f *Folder) label() string { return filepath.Base(f.Path) + " " + f.Mark }

// checkMark refuses the data of another server, and a new one. Without a mark, data without a mark is that of an earlier version.
func (f *Folder) checkMark() error {
	found, err := ReadIn(f.Data(), MarkFile)
	if errors.Is(err, fs.ErrNotExist) {
		found, err = "", nil
	}
	found = strings.TrimSpace(found)
	if err != nil || found == f.label() || f.Mark == "" && (found == "" || strings.HasPrefix(found, f.label())) {
		return err
	}
	err = fmt.Errorf("%s is the data of another server, or a new one, and is not used: put back the data of %s, or delete the instance",
		f.Data(), filepath.Base(f.Path))
	if f.Mark != "" {
		err = fmt.Errorf("%w. In an old copy of that data, the file %s must contain: %s", err, MarkFile, f.label())
	}
	return err
}

// WriteMark writes the mark, if there is one, into the data, or a copy of it.
func (f *Folder) WriteMark(data string) error {
	if f.Mark == "" {
		return nil
	}
	return WriteIn(data, MarkFile, f.label()+"\n")
}

// TakeOver marks the data of an earlier version, and returns the mark. A mark that a killed cloud did not record is kept.
func (f *Folder) TakeOver() (mark string, err error) {
	if err := f.checkMark(); err != nil {
		return "", err
	}
	found, err := ReadIn(f.Data(), MarkFile)
	if err == nil {
		return strings.TrimPrefix(strings.TrimSpace(found), f.label()), nil
	}
	mark = rand.Text()
	return mark, WriteIn(f.Data(), MarkFile, f.label()+mark+"\n")
}

// maxSmallFile is how much of a file ReadIn reads.
const maxSmallFile = 64 << 10

// ReadIn reads a small file of a folder that users of a server may write to: it follows no link out of it, waits for no pipe, and reads
// no endless file.
func ReadIn(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close() // only read
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", filepath.Join(folder, name))
	}
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSmallFile))
	return string(content), err
}

// WriteIn writes a file that the owner of the folder owns, which a crash leaves whole or unchanged. It follows no link out of the folder.
func WriteIn(folder, name, content string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() // only a folder
	here, err := root.Open(".")
	if err != nil {
		return err
	}
	defer here.Close() // only a folder
	unfinished := name + ".new"
	if err := root.RemoveAll(unfinished); err != nil {
		return err
	}
	file, err := root.OpenFile(unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	if info, statErr := here.Stat(); statErr != nil {
		err = errors.Join(err, statErr)
	} else if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		err = errors.Join(err, file.Chown(int(stat.Uid), int(stat.Gid)))
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return errors.Join(root.Rename(unfinished, name), here.Sync())
}
