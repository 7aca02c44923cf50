// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs servers as processes of this machine: accounts, programs, ports, folders, logs, processes.
//
// A Folder holds the data and the log of one server. Servers run in a session of their own and outlive this process, so a
// Process need not be a child. A pid alone proves nothing, since pids are reused: a Process is a pidfd, which stays bound to
// one process, and data of /proc is trusted only while a pidfd that was opened before it was read is still alive. Libraries
// for process supervision handle only child processes; these servers outlive the cloud.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readyPoll       = 25 * time.Millisecond // the interval at which a starting server is checked
	shutdownTimeout = 30 * time.Second      // how long an orderly shutdown may take
	killAfter       = 5 * time.Second       // how long a process that was signalled may take to end before it is killed
	maxLogBytes     = 4 << 20               // the size at which the log is rotated when a server starts
)

// Folder is the folder of one server:
//
//	<folder>/            0711, owned by this process's account
//	<folder>/server.log  the server's output
//	<folder>/*.conf      0600, owned by the server's account; written before every start
//	<folder>/data/       0700, owned by the server's account
type Folder struct {
	Path  string      // absolute and free of symbolic links. The folder need not exist.
	Owner Account     // the account that will own the data
	Proof string      // a file that the data always has: without it, a server would start empty or not at all
	Mark  string      // tells the data from that of other servers; empty for data of an earlier version
	Stop  unix.Signal // asks the server for an orderly shutdown
	// End has the programs that may run in the folder, and the signal that ends each quickly without loss of data.
	End     map[string]unix.Signal
	Discard unix.Signal // replaces the signals of End when the data is about to be deleted. 0 keeps them.
	Marks   []string    // Marks precede the cause of a failure in the log
}

// Data returns the path of the data.
func (f *Folder) Data() string { return filepath.Join(f.Path, "data") }

func (f *Folder) log() string { return filepath.Join(f.Path, "server.log") }

// HasData reports whether the data exists. It is complete then, since CreateData renames it into place.
func (f *Folder) HasData() (bool, error) {
	_, err := os.Stat(f.Data())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsUnused reports whether the data is an empty folder in which no server was ever started: earlier versions created one before the start.
func (f *Folder) IsUnused() (bool, error) {
	entries, err := os.ReadDir(f.Data())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	_, started := os.Lstat(f.log())
	return err == nil && len(entries) == 0 && errors.Is(started, fs.ErrNotExist), err
}

// FindData reports whether the data exists, and fails if a server has used it and it is gone, or it has lost its Proof or has not its
// Mark: then nothing may replace it, and no server may use what is there.
func (f *Folder) FindData(used bool) (bool, error) {
	exists, err := f.HasData()
	if err != nil || !exists && !used {
		return false, err
	}
	proof := filepath.Join(f.Data(), f.Proof)
	if _, err = os.Lstat(proof); err == nil {
		err = f.checkMark()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is missing: the data is gone, and is not replaced by an empty one: put it back, or delete the instance", proof)
	}
	return true, err
}

// DataSize returns how many bytes the files of the data have. A running server creates and removes files meanwhile.
func (f *Folder) DataSize() (size int64, err error) {
	err = filepath.WalkDir(f.Data(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				size += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) && path != f.Data() {
			return nil
		}
		return err
	})
	return size, err
}

// FreeSpace returns how many bytes are free on the disk of a folder.
func FreeSpace(folder string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(folder, &disk); err != nil {
		return 0, fmt.Errorf("reading free space of %s: %w", folder, err)
	}
	return int64(disk.Bavail) * disk.Bsize, nil
}

// CreateData creates the data on disk, which must not exist or be an empty folder. fill fills the folder at path, which the owner of the data owns.
func (f *Folder) CreateData(fill func(path string) error) error {
	unfinished := f.Data() + ".new"
	err := errors.Join(os.MkdirAll(unfinished, 0o700),
		os.Chmod(f.Path, 0o711), // The umask may have removed access for the server's account.
		f.Owner.Own(unfinished))
	if err != nil {
		return err
	}
	if err := fill(unfinished); err != nil {
		return err
	}
	if err := errors.Join(f.WriteMark(unfinished), Sync(unfinished)); err != nil {
		return err
	}
	return errors.Join(unix.Rename(unfinished, f.Data()), Sync(f.Path)) // os.Rename would not replace an empty folder
}

// WriteConfig writes a file beside the data, which the owner of the data owns, and returns its path.
func (f *Folder) WriteConfig(name, content string) (path string, err error) {
	owner, err := f.DataOwner()
	if err != nil {
		return "", err
	}
	path = filepath.Join(f.Path, name)
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err // Left by a crash, it may belong to the server's account already.
	}
	if err := errors.Join(os.WriteFile(unfinished, []byte(content), 0o600), owner.Own(unfinished)); err != nil {
		return "", err
	}
	return path, os.Rename(unfinished, path)
}

// ShortPath returns a path of an open folder for the sockets in it: Linux limits paths of sockets to 107 characters.
func ShortPath(folder uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", folder) }

// EmptyFolder creates a folder, which the owner of the data owns, in place of what is there.
func (f *Folder) EmptyFolder(path string) error {
	return errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o700), f.Owner.Own(path))
}

// DataOwner returns the account that owns the data: the server must run as this one.
func (f *Folder) DataOwner() (Account, error) {
	info, err := os.Stat(f.Data())
	if err != nil {
		return Account{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Account{}, fmt.Errorf("reading owner of %s: not a Unix file system", f.Data())
	}
	return accountOf(int(stat.Uid), int(stat.Gid)), nil
}

// Remove ends every server process that works in the folder and deletes it.
func (f *Folder) Remove(ctx context.Context) error {
	if err := f.end(ctx, f.Discard); err != nil {
		return err
	}
	if err := os.RemoveAll(f.Path); err != nil {
		return fmt.Errorf("removing data: %w", err)
	}
	return nil
}

// Clear ends every server process that works in the folder, kills those that do not end in time, and keeps the data.
func (f *Folder) Clear(ctx context.Context) error { return f.end(ctx, 0) }

func (f *Folder) end(ctx context.Context, discard unix.Signal) error {
	deadline := time.Now().Add(killAfter)
	for {
		running, err := processesIn(f.Path, slices.Collect(maps.Keys(f.End))...)
		if err == nil && len(running) == 0 {
			return nil
		}
		if err == nil {
			err = f.endAll(ctx, running, discard, deadline)
		}
		for _, p := range running {
			p.Close()
		}
		if err != nil {
			return fmt.Errorf("ending processes of %s: %w", f.Path, err)
		}
	}
}

// endAll signals the processes, and kills those that remain after the deadline.
func (f *Folder) endAll(ctx context.Context, running []*Process, discard unix.Signal, deadline time.Time) error {
	orderly, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for _, p := range running {
		sig := unix.SIGKILL
		if info, err := p.Inspect(); err == nil && f.End[info.Command] != 0 && time.Now().Before(deadline) {
			sig = cmp.Or(discard, f.End[info.Command])
		}
		if err := p.Signal(sig); err != nil && !errors.Is(err, ErrEnded) {
			return err
		}
	}
	for _, p := range running {
		if p.Wait(orderly) == nil {
			continue
		}
		if err := p.Signal(unix.SIGKILL); err != nil && !errors.Is(err, ErrEnded) {
			return err
		}
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Server is a running server of a folder. Close leaves it running.
type Server struct {
	*Process
	Args     []string // the arguments of the server, the program first
	folder   *Folder
	logStart int64 // offset in the log at which the output since Start or Adopt begins
}

// Start starts a server in the folder, as the owner of the data, and returns before it is ready.
func (f *Folder) Start(cmd *exec.Cmd) (*Server, error) {
	owner, err := f.DataOwner()
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	log, logStart, err := openLog(f.log())
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	defer log.Close() // Only the server writes to it.
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = f.Path, owner.Attributes(), log, log
	p, err := Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	return &Server{Process: p, Args: cmd.Args, folder: f, logStart: logStart}, nil
}

// Adopt returns the server that an earlier cloud started as p with these arguments.
func (f *Folder) Adopt(p *Process, args []string) *Server {
	return &Server{Process: p, Args: args, folder: f, logStart: logSize(f.log())}
}

var errSilent = errors.New("the server runs, but does not accept connections; it is not restarted, and the instance is ONLINE when it does")

// A Fault is why clients cannot use a server that answers. A restart does not repair it.
type Fault struct {
	Cause  string // what a person can do about it, too
	Passes bool   // it may pass within seconds
}

func (f *Fault) Error() string { return f.Cause }

// AwaitReady waits until check returns nil, or a Fault that does not pass, which it returns. It fails when ctx ends, or the server, then
// with the last cause in its log. Other errors of check mean that the server does not answer.
func (s *Server) AwaitReady(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	var passing *Fault // that of the last check
	for {
		err := check(ctx)
		fault, answers := errors.AsType[*Fault](err)
		if err == nil || answers && !fault.Passes {
			return err
		}
		if timeout, is := errors.AsType[net.Error](err); ctx.Err() == nil && (!is || !timeout.Timeout()) { // else the check had no time
			passing = fault
		}
		select {
		case <-s.Exited():
			return fmt.Errorf("server ended while starting: %s", LastCause(logSince(s.folder.log(), s.logStart), s.folder.Marks...))
		case <-ctx.Done():
			switch {
			case !errors.Is(ctx.Err(), context.DeadlineExceeded):
				return fmt.Errorf("waiting for server to accept connections: %w", ctx.Err())
			case passing != nil:
				return passing
			}
			return errSilent
		case <-tick.C:
		}
	}
}

// Shutdown ends the server in an orderly way and closes it. After a timeout it uses Clear, which may make the next start slower.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.Signal(s.folder.Stop); err != nil && !errors.Is(err, ErrEnded) {
		return fmt.Errorf("stopping server: %w", err)
	}
	orderly, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if s.Wait(orderly) != nil {
		if err := s.folder.Clear(ctx); err != nil {
			return fmt.Errorf("stopping server: %w", err)
		}
		if err := s.Wait(ctx); err != nil {
			return fmt.Errorf("stopping server: %w", err)
		}
	}
	s.Close()
	return nil
}

// openLog opens the log for a server, which also writes to it after this process has ended, and returns where its output begins.
func openLog(path string) (log *os.File, start int64, err error) {
	if logSize(path) > maxLogBytes {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, 0, err
		}
	}
	log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, 0, err
	}
	start, err = log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	return log, start, nil
}

// logSize is 0 if there is no log.
func logSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// logSince returns the output from start on, at most the last 64 KiB of it, or the reason why it cannot be read.
func logSince(path string, start int64) string {
	const enough = 64 << 10
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close() // only read
	end := logSize(path)
	start = max(start, end-enough)
	output, err := io.ReadAll(io.NewSectionReader(log, start, end-start))
	if err != nil {
		return err.Error()
	}
	return string(output)
}

// LastCause returns what follows a mark in the last line of the output that contains one, else the last line.
func LastCause(output string, marks ...string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		for _, mark := range marks {
			if _, cause, ok := strings.Cut(lines[i], mark); ok {
				return strings.TrimSpace(cause)
			}
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// Sync writes the whole file system of a folder to disk.
func Sync(folder string) error {
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
