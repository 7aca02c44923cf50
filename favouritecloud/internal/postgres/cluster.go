// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/process"
)

// Username is the name of the superuser of every server.
const Username = "postgres"

const (
	serverProgram = "postgres"
	initProgram   = "initdb"

	// initDelay is how long the children of a program that was told to end may go on.
	initDelay = 5 * time.Second
)

// Cluster is a folder that holds the data of one PostgreSQL server.
type Cluster struct {
	folder  string
	account account.Account
}

// NewCluster returns the cluster in a folder, which need not exist yet. folder must be absolute and free of symbolic
// links. owner is who owns the data of a cluster that is yet to be initialized.
func NewCluster(folder string, owner account.Account) *Cluster {
	return &Cluster{folder: folder, account: owner}
}

func (c *Cluster) data() string { return filepath.Join(c.folder, "data") }
func (c *Cluster) log() string  { return filepath.Join(c.folder, "server.log") }

// Initialized reports whether the data folder is there and complete.
func (c *Cluster) Initialized() (bool, error) {
	_, err := os.Stat(c.data())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Major returns the major version of PostgreSQL that the data was made with.
func (c *Cluster) Major() (string, error) { return majorOf(c.data()) }

// Initialize makes the data folder, with password as the superuser's. What an interrupted attempt left is removed
// first.
func (c *Cluster) Initialize(ctx context.Context, with Installation, password string) error {
	if err := c.Remove(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(c.folder, 0o711); err != nil {
		return fmt.Errorf("initializing data folder: %w", err)
	}
	if err := os.Chmod(c.folder, 0o711); err != nil { // The umask may have taken away the way in.
		return fmt.Errorf("initializing data folder: %w", err)
	}
	unfinished := filepath.Join(c.folder, "data.new")
	if err := c.initdb(ctx, with, unfinished, password); err != nil {
		return fmt.Errorf("initializing data folder: %w", err)
	}
	if err := syncAll(unfinished); err != nil {
		return fmt.Errorf("initializing data folder: %w", err)
	}
	if err := os.Rename(unfinished, c.data()); err != nil {
		return fmt.Errorf("initializing data folder: %w", err)
	}
	return syncAll(c.folder)
}

func (c *Cluster) initdb(ctx context.Context, with Installation, target, password string) error {
	if err := os.Mkdir(target, 0o700); err != nil {
		return err
	}
	passwordFile := filepath.Join(c.folder, "password")
	defer os.Remove(passwordFile) //nolint:errcheck // Remove deletes the whole folder if this cannot.
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	for _, path := range []string{target, passwordFile} {
		if err := c.account.Own(path); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(with.BinDir, initProgram), "-D", target,
		"--username="+Username, "--pwfile="+passwordFile, "--auth=scram-sha-256", "--encoding=UTF8", "--locale="+locale(),
		"--wal-segsize=1",
		"--no-sync") // One call of syncfs afterwards is four times as fast.
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.folder, environment(with), c.account.Attributes()
	cmd.WaitDelay = initDelay // Its children may outlive it with the output open.
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running initdb as %s: %w: %s", c.account.Name, err, lastLine(string(out)))
	}
	return os.Remove(passwordFile)
}

// locale prefers Unicode's upper and lower case without any language's order; old systems lack it.
func locale() string {
	for _, folder := range []string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"} {
		if _, err := os.Stat(folder); err == nil {
			return "C.UTF-8"
		}
	}
	return "C"
}

// environment is all that a server inherits: this process's own environment may hold secrets.
func environment(with Installation) []string {
	return []string{"PATH=" + with.BinDir + ":/usr/local/bin:/usr/bin:/bin", "LC_ALL=" + locale(), "TZ=UTC"}
}

// syncAll writes everything of the folder's file system to disk.
func syncAll(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // Read only.
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("writing %s to disk: %w", folder, err)
	}
	return nil
}

// Remove ends whatever runs in the folder and deletes it.
func (c *Cluster) Remove(ctx context.Context) error {
	if err := c.Clear(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(c.folder); err != nil {
		return fmt.Errorf("removing data: %w", err)
	}
	return nil
}

// Clear ends every PostgreSQL process that works in the folder. The data survives, as after a crash. Servers are asked for
// an immediate shutdown, in which they free their shared memory.
func (c *Cluster) Clear(ctx context.Context) error {
	return process.EndIn(ctx, c.folder, map[string]unix.Signal{serverProgram: unix.SIGQUIT, initProgram: unix.SIGKILL})
}

// lastLine returns what a PostgreSQL program said at last that looks like a cause.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		for _, mark := range []string{"FATAL:", "PANIC:", "error:"} {
			if _, cause, ok := strings.Cut(lines[i], mark); ok {
				return strings.TrimSpace(cause)
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
