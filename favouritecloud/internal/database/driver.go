// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
)

const (
	serverProgram = "postgres"
	initProgram   = "initdb"
	versionFile   = "PG_VERSION"

	oldestMajor = 12              // the first version that detects processes of a killed server that still use the data
	initDelay   = 5 * time.Second // how long child processes of a killed initdb may hold its output open
	// maxStartSkew allows for the rounded start time of /proc, and for the pid file, which is written a moment later.
	maxStartSkew = 10 * time.Second
)

// DefaultSearchPath returns the folders of PATH, then Debian's.
func DefaultSearchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), "/usr/lib/postgresql/*/bin")
}

func software(searchPath []string) host.Software {
	return host.Software{
		SearchPath: searchPath, Oldest: oldestMajor,
		Version: regexp.MustCompile(`\(PostgreSQL\) ([0-9]+)`), // For example "postgres (PostgreSQL) 15.4 (Debian 15.4-1)".
		Locate: func(folder string) (string, error) {
			// The programs find their library by their real path, and links to them are often created one by one.
			server, err := filepath.EvalSymlinks(filepath.Join(folder, serverProgram))
			if err != nil {
				return "", err
			}
			_, err = os.Stat(filepath.Join(filepath.Dir(server), initProgram))
			return server, err
		},
	}
}

// choose returns the first program of the major version, of any version if that is empty.
func choose(installed []host.Program, major string) (host.Program, error) {
	for _, p := range installed {
		if major == "" || p.Version == major {
			return p, nil
		}
	}
	if major == "" {
		return host.Program{}, host.NotInstalled("PostgreSQL", "postgresql")
	}
	return host.Program{}, host.NotInstalled("PostgreSQL "+major, "postgresql-"+major)
}

// driver runs the PostgreSQL server of one instance.
type driver struct {
	service.Site[Spec]
	slots chan struct{} // one token per data folder that is being initialized
}

// Find returns the server that an earlier cloud started.
func (d *driver) Find(context.Context, record) (*host.Server, error) {
	file, err := readPidFile(d.Data())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnfinished) {
		return nil, host.ErrEnded
	}
	if err != nil {
		return nil, err
	}
	p, err := host.Open(file.pid)
	if err != nil {
		return nil, err
	}
	info, err := p.Inspect()
	if err == nil && isServer(d.Data(), info, file) {
		return d.Adopt(p, info.Args), nil
	}
	p.Close()
	return nil, cmp.Or(err, host.ErrEnded)
}

// isServer checks what the pid file does not prove: after a crash of the machine its pid may belong to any process.
func isServer(data string, info host.Info, file pidFile) bool {
	return info.Command == serverProgram && slices.Contains(info.Args, data) && info.Started.Sub(file.started).Abs() <= maxStartSkew
}

// Fits reports whether the server has the desired settings: all of them require a restart.
func (d *driver) Fits(s *host.Server, r record) bool {
	return setting(s, "max_connections") == r.Spec.FancinessLevel && setting(s, "port") != 0 &&
		slices.ContainsFunc(s.Args, func(arg string) bool { return strings.HasPrefix(arg, socketSetting) })
}

// setting returns a setting of a server, from its arguments; 0 if it was not started with it.
func setting(s *host.Server, name string) int {
	for _, arg := range s.Args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			if n, err := strconv.Atoi(value); err == nil {
				return n
			}
		}
	}
	return 0
}

// Prepare initializes the data folder if there never was one.
func (d *driver) Prepare(ctx context.Context, r record, installed []host.Program) (func(port int) (*host.Server, error), error) {
	exists, err := d.FindData(r.Port != 0) // a port is chosen after the data was created
	wanted := r.Version
	if err == nil && exists {
		wanted, err = d.major()
	}
	if err != nil {
		return nil, fmt.Errorf("checking data folder: %w", err)
	}
	program, err := choose(installed, wanted)
	if err == nil && !exists {
		err = d.initialize(ctx, program)
	}
	return func(port int) (*host.Server, error) { return d.start(program, port, r.Spec.FancinessLevel) }, err
}

// initialize creates the data, with the password of the superuser. It first removes what an interrupted attempt left.
func (d *driver) initialize(ctx context.Context, with host.Program) error {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	password, err := d.firstPassword()
	if err != nil {
		return err
	}
	if err := d.Remove(ctx); err != nil {
		return err
	}
	err = d.CreateData(func(path string) error {
		return d.initdb(ctx, with, path, password)
	})
	if err != nil {
		return fmt.Errorf("initializing data folder: %w", err)
	}
	return nil
}

func (d *driver) initdb(ctx context.Context, with host.Program, target, password string) error {
	passwordFile := filepath.Join(d.Path, "password")
	defer os.Remove(passwordFile) // Remove deletes the whole folder if this fails.
	err := errors.Join(os.WriteFile(passwordFile, []byte(password+"\n"), 0o600), d.Owner.Own(passwordFile))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(with.Path), initProgram), "-D", target,
		"--username="+username, "--pwfile="+passwordFile, "--auth=scram-sha-256", "--encoding=UTF8", "--locale="+locale(),
		"--wal-segsize=1",
		"--no-sync") // One call of syncfs by CreateData is four times as fast.
	cmd.Dir, cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = d.Path, environment(with), d.Owner.Attributes(), initDelay
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running initdb as %s: %w: %s", d.Owner.Name, err, host.LastCause(string(out), d.Marks...))
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
func environment(with host.Program) []string {
	return []string{"PATH=" + filepath.Dir(with.Path) + ":/usr/local/bin:/usr/bin:/bin", "LC_ALL=" + locale(), "TZ=UTC"}
}

func (d *driver) start(with host.Program, port, maxConnections int) (*host.Server, error) {
	// A server refuses to start while the pid in this file exists, whatever process has it now. Its own check of shared memory
	// still detects a process of this folder.
	if err := os.Remove(filepath.Join(d.Data(), pidFileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("starting server: removing the previous pid file: %w", err)
	}
	socket, err := d.newSocketFolder()
	if err != nil {
		return nil, fmt.Errorf("starting server: creating the folder of its socket: %w", err)
	}
	hba, err := d.WriteConfig(accessName, access)
	if err != nil {
		return nil, fmt.Errorf("starting server: writing %s: %w", accessName, err)
	}
	cmd := exec.Command(with.Path, "-D", d.Data(),
		"-c", "port="+strconv.Itoa(port),
		"-c", "max_connections="+strconv.Itoa(maxConnections),
		"-c", "listen_addresses="+host.Loopback,
		"-c", socketSetting+socket,
		"-c", "hba_file="+hba,
		"-c", "shared_buffers=16MB",
		"-c", "jit=off")
	cmd.Env = environment(with)
	return d.Start(cmd)
}

// AwaitReady waits for the server.
func (d *driver) AwaitReady(ctx context.Context, s *host.Server, _ record) error {
	return s.AwaitReady(ctx, func(ctx context.Context) error { return d.check(ctx, s) })
}

// Settle sets the password.
func (d *driver) Settle(ctx context.Context, s *host.Server, r record) (service.Seen, error) {
	if err := d.applyPassword(ctx, s, r); err != nil {
		return service.Seen{}, err
	}
	major, err := d.major()
	return service.Seen{Version: major, Port: setting(s, "port")}, err
}

// major returns the major version of PostgreSQL that the data belongs to.
func (d *driver) major() (string, error) {
	content, err := host.ReadIn(d.Data(), versionFile)
	if err != nil {
		return "", fmt.Errorf("reading version of data folder: %w", err)
	}
	major := strings.TrimSpace(content)
	if host.Major(major) == 0 {
		return "", errors.New("reading version of data folder: PG_VERSION is not a number")
	}
	return major, nil
}

// errUnfinished reports a pid file that a starting server has not completed yet.
var errUnfinished = errors.New("postmaster.pid is unfinished")

const pidFileName = "postmaster.pid"

// pidFile is the content of postmaster.pid: pid, data folder, start time, port, socket folder, address, shared memory, state.
type pidFile struct {
	pid     int
	started time.Time
	ready   bool
}

func readPidFile(data string) (pidFile, error) {
	content, err := host.ReadIn(data, pidFileName)
	if err != nil {
		return pidFile{}, fmt.Errorf("reading postmaster.pid: %w", err)
	}
	return parsePidFile(content)
}

func parsePidFile(content string) (pidFile, error) {
	const pidLine, startLine, stateLine = 0, 2, 7
	lines := strings.Split(content, "\n")
	if len(lines) <= startLine {
		return pidFile{}, errUnfinished
	}
	pid, pidErr := strconv.Atoi(strings.TrimSpace(lines[pidLine]))
	started, startErr := strconv.ParseInt(strings.TrimSpace(lines[startLine]), 10, 64)
	if pidErr != nil || startErr != nil || pid <= 0 {
		return pidFile{}, errUnfinished
	}
	return pidFile{
		pid:     pid,
		started: time.Unix(started, 0),
		ready:   len(lines) > stateLine && strings.TrimSpace(lines[stateLine]) == "ready",
	}, nil
}
