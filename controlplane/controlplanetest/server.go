// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest/internal/process"
)

const (
	kubeconfigVariable = "BOWLINE_TEST_KUBECONFIG"
	module             = "github.com/bowline-dev/bowline"

	buildLimit = 20 * time.Minute // the first build compiles Kubernetes
	startLimit = time.Minute
	logTail    = 4 << 10
)

var shared = sync.OnceValues(connect)

// connect returns the administrator's access to the run's server. The first test binary starts it.
func connect() (*rest.Config, error) {
	if path := os.Getenv(kubeconfigVariable); path != "" {
		return load(path)
	}
	p, err := owner()
	if err != nil {
		return nil, err
	}
	f, err := openFolder(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	lock, err := lockFile(ctx, f.lock())
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := os.Stat(f.ready()); err != nil {
		if err := start(ctx, f, p); err != nil {
			return nil, fmt.Errorf("starting test server: %w", err)
		}
	}
	config, err := load(filepath.Join(f.data(), "admin.kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, tail(f.log()))
	}
	return config, nil
}

// owner returns the process with which the shared server ends: the go command that runs the test binaries, else this process.
func owner() (string, error) {
	parent := os.Getppid()
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", parent)); err == nil && filepath.Base(exe) == "go" {
		return process.Identify(parent)
	}
	return process.Identify(os.Getpid())
}

// load reads a kubeconfig and checks that its server is ready.
func load(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	config.QPS = -1 // the server limits its load itself
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building client: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return nil, fmt.Errorf("checking readiness of the test server at %s: %w", config.Host, err)
	}
	return config, nil
}

// start builds the server and runs it in the background until its owner ends.
func start(ctx context.Context, f folder, owner string) error {
	if err := removeStale(); err != nil {
		return err
	}
	binary, lock, err := build(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	log, err := os.OpenFile(f.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(binary, "-folder", string(f), "-data", f.data(), "-ready", f.ready(), "-for", owner)
	cmd.Stdout, cmd.Stderr = log, log // not those of this process: the go command would wait for the server
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return awaitReady(ctx, f, ended)
}

func awaitReady(ctx context.Context, f folder, ended <-chan error) error {
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, startLimit, true, func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("it ended early: %w", err)
		default:
			_, err := os.Stat(f.ready())
			return err == nil, nil
		}
	})
	if err != nil {
		return fmt.Errorf("waiting until it is ready: %w\n%s", err, tail(f.log()))
	}
	return nil
}

// build builds the server in the user's cache folder, where the go command checks whether it is up to date. The program does not
// change until its lock is closed.
func build(ctx context.Context) (binary string, lock *os.File, err error) {
	dir, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", nil, fmt.Errorf("finding source: %w", err)
	}
	if dir == "" {
		return "", nil, fmt.Errorf("module %s is not downloaded (a vendor folder does not suffice)", module)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, fmt.Errorf("finding cache folder: %w", err)
	}
	binary = filepath.Join(cache, "bowline", fmt.Sprintf("testserver-%.6x", sha256.Sum256([]byte(dir))))
	if err := os.MkdirAll(filepath.Dir(binary), 0o700); err != nil {
		return "", nil, fmt.Errorf("creating cache folder: %w", err)
	}
	if lock, err = lockFile(ctx, binary+".lock"); err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		fmt.Fprintln(os.Stderr, "controlplanetest: building the test server; the first time takes some minutes")
	}
	_, err = goCommand(ctx, dir, "build", "-mod=readonly", "-ldflags=-s -w", "-o", binary, "./controlplane/controlplanetest/testserver")
	if err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return binary, lock, nil
}

// goCommand returns what the go command prints, in the module of the test or, regardless of any workspace, in that of a folder.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	if dir != "" {
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "PWD="+dir)
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w\n%s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	return "end of " + path + ":\n" + string(bytes.TrimSpace(text[max(0, len(text)-logTail):]))
}

type folder string

func (f folder) data() string  { return filepath.Join(string(f), "data") }
func (f folder) log() string   { return filepath.Join(string(f), "server.log") }
func (f folder) ready() string { return filepath.Join(string(f), "ready") } // created when the server is ready
func (f folder) lock() string  { return filepath.Join(string(f), "start.lock") }

func folderPrefix() string { return fmt.Sprintf("bowline-test-%d-", os.Getuid()) }

// openFolder creates or finds the folder of a run's server. It must be private, since any user can write to the temporary folder.
func openFolder(owner string) (folder, error) {
	path := filepath.Join(os.TempDir(), folderPrefix()+owner)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("creating server's folder: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("checking server's folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || int(stat.Uid) != os.Getuid() {
		return "", fmt.Errorf("server's folder %s belongs to another user", path)
	}
	return folder(path), nil
}

func removeStale() error {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix()+"*"))
	if err != nil {
		return fmt.Errorf("looking for old folders: %w", err)
	}
	for _, path := range found {
		alive, err := process.Alive(strings.TrimPrefix(filepath.Base(path), folderPrefix()))
		if err != nil || alive || serves(folder(path)) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("removing old folder: %w", err)
		}
	}
	return nil
}

// serves reports whether a server uses the folder.
func serves(f folder) bool {
	lock, err := os.Open(filepath.Join(f.data(), "lock"))
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// lockFile locks a file, and waits for the lock until ctx ends. Closing the file releases it.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return f, nil
}
