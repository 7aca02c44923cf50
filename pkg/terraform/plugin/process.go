// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

const (
	// startTimeout is the default of Command.Timeout: a large provider on a busy machine takes seconds.
	startTimeout = time.Minute
	// endTimeout is how long a process that was asked to end may take.
	endTimeout = 5 * time.Second
	// mostOfLine is how many bytes the line may have by which a process tells where it listens, with the certificate of its connection.
	mostOfLine = 4 << 10
)

// inherited are the variables of this process that those of providers get: how to reach the network, and where programs are.
var inherited = []string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// A Command says how to start a provider.
type Command struct {
	Path string   // of the binary
	Args []string // Default: none
	Env  []string // besides what every provider needs; nothing else of this process's environment is passed on
	// Files are written into the folder in which the process runs, by their local names.
	Files map[string][]byte
	// Dir is the folder in which the process runs. Default: one of its own, which is removed after it.
	Dir string
	// Timeout bounds how long the process may take until it tells where it listens. Default: a minute.
	Timeout time.Duration
	// Outlives is true for a process that ends by itself some time after this one, whose end it sees at its standard input.
	Outlives bool
	// Output receives what the process prints. It may hold secrets. Default: nothing.
	Output io.Writer
}

// A Process is a provider that runs. It is safe for concurrent use.
type Process struct {
	*wire.Conn
	command *exec.Cmd
	folder  string // home, temporary files and the socket
	lock    *os.File
	stdin   io.Closer // of a journal, which outlives this process and sees by it when this one has left; nil for a provider
	left    atomic.Bool
	done    chan struct{}
	end     context.CancelFunc
}

// Start starts a provider, and returns when it answers. It ends with this process, also when that is killed, unless Command.Outlives.
func Start(ctx context.Context, c Command) (*Process, error) {
	handshake, err := wire.NewHandshake()
	if err != nil {
		return nil, err
	}
	folder, lock, err := newFolder()
	if err != nil {
		return nil, err
	}
	p := &Process{folder: folder, lock: lock, done: make(chan struct{})}
	p.command = exec.Command(c.Path, c.Args...)
	p.command.ExtraFiles = []*os.File{lock}
	p.command.Dir, p.command.Env = cmp.Or(c.Dir, folder), slices.Concat(environment(folder), c.Env, handshake.Environment())
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !c.Outlives {
		dieWithParent(p.command.SysProcAttr)
	} else if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder), lock.Close())
	}
	output := lasting{cmp.Or[io.Writer](c.Output, io.Discard)}
	p.command.Stderr = output
	stdout, err := p.command.StdoutPipe()
	if err == nil {
		err = writeFiles(folder, c.Files)
	}
	if err == nil {
		err = p.run()
	}
	if err != nil {
		return nil, errors.Join(failure.With(failure.InvalidSettings, fmt.Errorf("starting the provider: %w", err)), os.RemoveAll(folder), lock.Close())
	}
	line, err := p.firstLine(ctx, stdout, cmp.Or(c.Timeout, startTimeout))
	if err == nil {
		p.Conn, err = handshake.Dial(line)
	}
	if err != nil {
		p.Close()
		return nil, failure.With(failure.InvalidSettings, fmt.Errorf("starting the provider: %w", err))
	}
	background, cancel := context.WithCancel(context.Background())
	p.end = cancel
	go func() { _, _ = io.Copy(output, stdout) }()
	go func() { _ = p.CopyOutput(background, output) }() // ends with the process
	return p, nil
}

// lasting is a writer whose errors nobody sees: a process whose output cannot be written any more is to go on. It is no file, which the process
// would write itself.
type lasting struct{ to io.Writer }

func (l lasting) Write(printed []byte) (int, error) {
	_, _ = l.to.Write(printed)
	return len(printed), nil
}

// environment is what every provider gets. Providers write every request to their log at a lower level. They hold little beside their
// schemas, so that garbage would be most of their memory.
func environment(folder string) []string {
	env := []string{"HOME=" + folder, "TMPDIR=" + folder, "PLUGIN_UNIX_SOCKET_DIR=" + folder, "TF_LOG=ERROR", "TF_LOG_SDK=ERROR", "CHECKPOINT_DISABLE=1",
		"GOGC=40"}
	for _, name := range inherited {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func writeFiles(folder string, files map[string][]byte) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, content := range files {
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := root.WriteFile(name, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run starts the process, and waits for its end, on a thread of its own: the process ends with the thread that started it.
func (p *Process) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err != nil {
			return
		}
		state, _ := p.command.Process.Wait()
		p.command.ProcessState = state
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // what it started
		_ = os.RemoveAll(p.folder)
		_ = p.lock.Close()
		close(p.done)
	}()
	return <-started
}

// firstLine waits for the line by which the process tells where it listens.
func (p *Process) firstLine(ctx context.Context, stdout io.Reader, timeout time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := bufio.NewReaderSize(io.LimitReader(stdout, mostOfLine), 16).ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return "", wire.ErrNoPlugin
		}
		return strings.TrimSpace(r.line), nil
	case <-ctx.Done():
		return "", fmt.Errorf("it prints no address: %w", ctx.Err())
	}
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID is the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Stop asks the provider to end its calls soon, with what they achieved so far. It does not wait for them.
func (p *Process) Stop(ctx context.Context) {
	_ = p.Call(ctx, wire.MethodStop, &wire.StopProvider_Request{}, &wire.StopProvider_Response{}) // it answers nothing that would help
}

// Leave has Close let a process that outlives this one end the changes that are in progress, and then end by itself.
func (p *Process) Leave() { p.left.Store(true) }

// Close ends the process, at once if it does not end when asked to.
func (p *Process) Close() {
	if p.left.Load() {
		p.end()
		_ = p.Conn.Close()
		_ = p.stdin.Close()
		return
	}
	if p.Conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		_ = p.Shutdown(ctx)
		cancel()
		select {
		case <-p.done:
		case <-time.After(endTimeout):
		}
		p.end()
		_ = p.Conn.Close()
	}
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	}
	<-p.done
}
