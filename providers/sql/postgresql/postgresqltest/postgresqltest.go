// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgresqltest runs real PostgreSQL servers in temporary folders, for tests.
//
// Start one server for a test binary, in TestMain, and use different names in each test. PostgreSQL 15 or later must be installed: on PATH or where Debian installs it. Root starts it as the account postgres. A server
// ends with the process that started it.
package postgresqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

const (
	host     = "127.0.0.1"
	username = "postgres"

	startTimeout = 60 * time.Second
	retry        = 20 * time.Millisecond
)

// A Server is a PostgreSQL server with temporary data. Its superuser is postgres.
type Server struct {
	folder, binaries, password string
	port                       int
	settings                   []string
	process                    *exec.Cmd
	exited                     chan struct{}
}

// Start creates and starts a server with settings such as "log_statement=all", and waits until it accepts connections.
func Start(settings ...string) (*Server, error) {
	binaries, err := find()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "postgresqltest-")
	if err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	s := &Server{folder: folder, binaries: binaries, password: rand.Text(), settings: settings}
	if err := s.initialize(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting PostgreSQL: %w", err), os.RemoveAll(folder))
	}
	if err := s.Restart(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Config connects to the server as its superuser.
func (s *Server) Config() postgresql.Config {
	return postgresql.Config{Endpoint: host, Port: s.port, Username: username, Password: postgresql.Secret(s.password)}
}

// Log returns the server's log.
func (s *Server) Log() (string, error) {
	log, err := os.ReadFile(s.logFile())
	return string(log), err
}

// Freeze has the server accept connections and answer nothing. Thaw lets it continue.
func (s *Server) Freeze() error { return s.signalAll(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() error { return s.signalAll(syscall.SIGCONT) }

// signalAll sends a signal to the server and its processes, of which each is in a session of its own.
func (s *Server) signalAll(signal syscall.Signal) error {
	pid := s.process.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err := errors.Join(err, syscall.Kill(pid, signal)); err != nil {
		return fmt.Errorf("sending PostgreSQL %s: %w", signal, err)
	}
	for field := range strings.FieldsSeq(string(children)) {
		if child, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(child, signal) // it may have ended
		}
	}
	return nil
}

// Kill ends the server as a crash does. Restart starts it again.
func (s *Server) Kill() error { return s.end(syscall.SIGQUIT) }

// Stop ends the server and removes its data.
func (s *Server) Stop() error {
	return errors.Join(s.end(syscall.SIGQUIT), os.RemoveAll(s.folder))
}

// Restart ends the server in an orderly way if it runs, and starts it again on the same port with the same data.
func (s *Server) Restart() error {
	if err := s.end(syscall.SIGINT); err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}
	defer log.Close() // The server writes it, not we.
	arguments := []string{
		"-D", s.data(), "--listen_addresses=" + host, "--port=" + strconv.Itoa(s.port), "--unix_socket_directories=", "--fsync=off",
		"--full_page_writes=off", "--shared_buffers=16MB", "--jit=off", "--autovacuum=off",
	}
	for _, setting := range s.settings {
		arguments = append(arguments, "--"+setting)
	}
	s.process, err = s.command("postgres", arguments...)
	if err != nil {
		return err
	}
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("starting PostgreSQL: %w", err)
	}
	s.exited = make(chan struct{})
	go func(process *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		_ = process.Wait() // the log has the reason
	}(s.process, s.exited)
	return s.waitReady()
}

func (s *Server) waitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	target := fmt.Sprintf("host=%s port=%d user=%s password=%s database=postgres sslmode=disable", host, s.port, username, s.password)
	for {
		conn, err := pgconn.Connect(ctx, target)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(retry):
		case <-s.exited:
			log, _ := s.Log() // may be empty
			return fmt.Errorf("starting PostgreSQL: it exited: %s", log)
		case <-ctx.Done():
			return fmt.Errorf("starting PostgreSQL: %w", err)
		}
	}
}

// end sends a signal to the server, if it runs, and waits for its exit.
func (s *Server) end(signal syscall.Signal) error {
	if s.process == nil {
		return nil
	}
	_ = s.Thaw() // a frozen process does not end
	if err := s.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending PostgreSQL: %w", err)
	}
	<-s.exited
	s.process = nil
	return nil
}

func (s *Server) data() string    { return filepath.Join(s.folder, "data") }
func (s *Server) logFile() string { return filepath.Join(s.folder, "log") }

// initialize creates the data folder and chooses a port.
func (s *Server) initialize() error {
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		return err
	}
	s.port = listener.Addr().(*net.TCPAddr).Port
	passwordFile := filepath.Join(s.folder, "password")
	if err := errors.Join(listener.Close(), os.Mkdir(s.data(), 0o700), os.Chmod(s.folder, 0o711), // postgres enters.
		os.WriteFile(passwordFile, []byte(s.password), 0o600)); err != nil {
		return err
	}
	initdb, err := s.command("initdb", "-D", s.data(), "--username="+username, "--pwfile="+passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--no-sync")
	if err != nil {
		return err
	}
	if c := initdb.SysProcAttr.Credential; c != nil {
		for _, path := range []string{s.data(), passwordFile} {
			if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
				return err
			}
		}
	}
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("running initdb: %w: %s", err, output)
	}
	return os.Remove(passwordFile)
}

// command returns a program of PostgreSQL that runs under an unprivileged account and exits with this process.
func (s *Server) command(program string, arguments ...string) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(s.binaries, program), arguments...)
	cmd.Dir, cmd.Env = s.folder, []string{"PATH=" + s.binaries + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() != 0 {
		return cmd, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("finding an account for PostgreSQL, which refuses to run as root: %w", err)
	}
	uid, uidErr := strconv.ParseUint(account.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(account.Gid, 10, 32)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return cmd, errors.Join(uidErr, gidErr)
}

// find returns the folder of PostgreSQL's programs, without symbolic links, since initdb finds the others beside it.
func find() (string, error) {
	folders := filepath.SplitList(os.Getenv("PATH"))
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", fmt.Errorf("looking for PostgreSQL: %w", err)
	}
	slices.SortFunc(debian, func(a, b string) int { return strings.Compare(b, a) })
	for _, folder := range append(folders, debian...) {
		program, err := filepath.EvalSymlinks(filepath.Join(folder, "initdb"))
		if err == nil {
			return filepath.Dir(program), nil
		}
	}
	return "", errors.New("PostgreSQL is not installed; install it (Debian: apt-get install postgresql) and run the test again")
}
