// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

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
	Name     string // used in messages
	UID, GID int    // UID and GID are the user and group ids
}

// FindAccount returns the account of new servers: that of this process; for root, which PostgreSQL refuses, postgres or nobody.
func FindAccount() (Account, error) {
	if os.Geteuid() != 0 {
		return accountOf(os.Geteuid(), os.Getegid()), nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return Account{}, fmt.Errorf("finding an account for servers, which must not run as root: %w", err)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return Account{}, fmt.Errorf("reading account %s: %w", u.Username, err)
	}
	return Account{Name: u.Username, UID: uid, GID: gid}, nil
}

func accountOf(uid, gid int) Account {
	return Account{Name: "uid " + strconv.Itoa(uid), UID: uid, GID: gid}
}

// Attributes starts a process in a session of its own, so that it gets no signals of a terminal, and under the account.
func (a Account) Attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}
	}
	return attr
}

// Own makes the account the owner of a file or folder.
func (a Account) Own(path string) error {
	if os.Geteuid() != 0 {
		return nil // This process owns it already.
	}
	return os.Chown(path, a.UID, a.GID)
}

// CanReach reports whether the account may pass through every existing folder on the way to path, path included.
// path must be absolute and free of symbolic links. Only mode bits are checked.
func (a Account) CanReach(path string) (bool, error) {
	if os.Geteuid() == a.UID {
		return true, nil
	}
	for folder := path; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("checking access to %s: %w", folder, err)
		}
		enter := info.Mode() & 0o001
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == a.UID {
			enter = info.Mode() & 0o100
		} else if ok && int(stat.Gid) == a.GID {
			enter = info.Mode() & 0o010
		}
		if enter == 0 {
			return false, nil
		}
		if folder == filepath.Dir(folder) {
			return true, nil
		}
	}
}
