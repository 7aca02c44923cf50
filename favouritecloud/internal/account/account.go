// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package account says which account of the operating system servers run as, and where that account can get to.
package account

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// Account is the operating system account that servers run as.
type Account struct {
	// Name is for messages.
	Name string
	// UID and GID are its ids.
	UID, GID int
}

// Find returns the account for new servers: this process's own, but for root, whom PostgreSQL refuses and no server needs
// to be, the account postgres or else nobody.
func Find() (Account, error) {
	if os.Geteuid() != 0 {
		return Account{Name: "uid " + strconv.Itoa(os.Geteuid()), UID: os.Geteuid(), GID: os.Getegid()}, nil
	}
	var problems []error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return Account{}, fmt.Errorf("reading account %s: %w", name, err)
		}
		return Account{Name: name, UID: uid, GID: gid}, nil
	}
	return Account{}, fmt.Errorf("finding an account for servers, which must not run as root: %w", errors.Join(problems...))
}

// OwnerOf returns the account that owns a folder: the one that its server must run as.
func OwnerOf(folder string) (Account, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return Account{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Account{}, fmt.Errorf("reading owner of %s: not a Unix file system", folder)
	}
	return Account{Name: "uid " + strconv.Itoa(int(stat.Uid)), UID: int(stat.Uid), GID: int(stat.Gid)}, nil
}

// Attributes puts a process into a session of its own, out of reach of a terminal's signals, and under the account.
func (a Account) Attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
	}
	return attr
}

// Own gives a file or folder to the account.
func (a Account) Own(path string) error {
	if os.Geteuid() != 0 {
		return nil // It is.
	}
	return os.Chown(path, a.UID, a.GID)
}

// CanReach reports whether the account may pass through every existing folder on the way to path, itself included.
// path must be absolute and free of symbolic links. Only mode bits are looked at.
func (a Account) CanReach(path string) (bool, error) {
	if os.Geteuid() == a.UID {
		return true, nil // Whatever this process can open, the server can.
	}
	for folder := path; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("checking who may enter %s: %w", folder, err)
		}
		if !a.canEnter(info) {
			return false, nil
		}
		if folder == filepath.Dir(folder) {
			return true, nil
		}
	}
}

func (a Account) canEnter(info os.FileInfo) bool {
	const ownerEnter, groupEnter, otherEnter = 0o100, 0o010, 0o001
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(stat.Uid) == a.UID:
		return info.Mode()&ownerEnter != 0
	case ok && int(stat.Gid) == a.GID:
		return info.Mode()&groupEnter != 0
	default:
		return info.Mode()&otherEnter != 0
	}
}
