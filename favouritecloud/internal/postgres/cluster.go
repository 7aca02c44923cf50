// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// Username is the name of the superuser of every server.
const Username = "postgres"

const (
	serverProgram = "postgres"
	initProgram   = "initdb"

	// initDelay is how long child processes of a killed initdb may hold its output open.
	initDelay = 5 * time.Second
)

// Cluster is the data of one PostgreSQL server.
type Cluster struct{ host.Folder }

// NewCluster returns the cluster in a folder. See host.Folder for its arguments. In an immediate shutdown (SIGQUIT) servers free
// their shared memory and lose no data.
func NewCluster(folder string, owner host.Account) *Cluster {
	end := host.Signals{serverProgram: unix.SIGQUIT, initProgram: unix.SIGKILL}
	return &Cluster{host.Folder{Path: folder, Owner: owner, End: end, Discard: end}}
}

// Major returns the major version of PostgreSQL that the data belongs to.
func (c *Cluster) Major() (string, error) { return majorOf(c.Data()) }

// Initialize creates the data, with the password of the superuser. It first removes what an interrupted attempt left.
func (c *Cluster) Initialize(ctx context.Context, with Installation, password string) error {
	if err := c.Remove(ctx); err != nil {
		return err
	}
	err := c.CreateData(func(path string) error {
		if err := c.initdb(ctx, with, path, password); err != nil {
			return err
		}
		return syncAll(path)
	})
	if err != nil {
		return fmt.Errorf("initializing data folder: %w", err)
	}
	return syncAll(c.Path)
}

func (c *Cluster) initdb(ctx context.Context, with Installation, target, password string) error {
	passwordFile := filepath.Join(c.Path, "password")
	defer os.Remove(passwordFile) // Remove deletes the whole folder if this fails.
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if err := c.Owner.Own(passwordFile); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(with.BinDir, initProgram), "-D", target,
		"--username="+Username, "--pwfile="+passwordFile, "--auth=scram-sha-256", "--encoding=UTF8", "--locale="+locale(),
		"--wal-segsize=1",
		"--no-sync") // One call of syncfs afterwards is four times as fast.
	cmd.Dir, cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = c.Path, environment(with), c.Owner.Attributes(), initDelay
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running initdb as %s: %w: %s", c.Owner.Name, err, host.LastCause(string(out), causeMarks()...))
	}
	return os.Remove(passwordFile)
}

// locale prefers C.UTF-8, which has the case rules of Unicode and no language's sort order; old systems lack it.
func locale() string {
	for _, folder := range []string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"} {
		if _, err := os.Stat(folder); err == nil {
			return "C.UTF-8"
		}
	}
	return "C"
}

// environment is the whole environment of a server: that of this process may contain secrets.
func environment(with Installation) []string {
	return []string{"PATH=" + with.BinDir + ":/usr/local/bin:/usr/bin:/bin", "LC_ALL=" + locale(), "TZ=UTC"}
}

// syncAll writes the folder's whole file system to disk.
func syncAll(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("writing %s to disk: %w", folder, err)
	}
	return nil
}

// causeMarks precede the cause of a failure in the output of PostgreSQL's programs.
func causeMarks() []string { return []string{"FATAL:", "PANIC:", "error:"} }
