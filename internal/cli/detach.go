// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
)

const (
	detachTimeout = 2 * time.Minute // a cold, busy machine needs some seconds
	maxLogSize    = 10 << 20
	logTail       = 4 << 10 // shown when a start fails
	// readyVariable tells a detached process the number of the file to which it writes its welcome when it is ready.
	readyVariable = "BOWLINE_READY_FD"
	readyFD       = 3 // the first of exec.Cmd.ExtraFiles
)

func logPath(dataDir string) string { return filepath.Join(dataDir, "bowline.log") }

// runDetached starts this program again in a session of its own and waits for its welcome, which it prints.
func (o upOptions) runDetached(ctx context.Context, std Streams) error {
	if pid, ok := controlplane.Holder(o.dataDir); ok {
		return o.alreadyUp(ctx, std, pid)
	}
	if _, err := o.controllers.options(); err != nil {
		return err
	}
	if err := controlplane.PrepareFolder(o.dataDir); err != nil {
		return err
	}
	log, err := openLog(logPath(o.dataDir))
	if err != nil {
		return err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, detachTimeout)
	defer cancel()
	welcome, err := o.spawn(ctx, log)
	if err != nil {
		return fmt.Errorf("starting in the background: %w", err)
	}
	if len(welcome) == 0 {
		return o.didNotStart(ctx, begin)
	}
	_, err = std.Out.Write(welcome)
	return err
}

// alreadyUp is content when what runs works.
func (o upOptions) alreadyUp(ctx context.Context, std Streams, pid int) error {
	state, ok := readRunFile(o.dataDir, pid)
	if !ok || healthy(ctx, o.dataDir) != nil {
		return alreadyRuns(o.dataDir, pid)
	}
	fmt.Fprintf(std.Out, "Bowline runs already (process %d).\n", pid)
	welcome(std.Out, o.program, o.dataDir, state)
	return nil
}

// healthy asks the API server of a data folder whether it is ready.
func healthy(ctx context.Context, dataDir string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", controlplane.KubeconfigPath(dataDir))
	if err != nil {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	cfg.Timeout = 5 * time.Second
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	if err := c.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("asking the API server whether it is ready: %w", err)
	}
	return nil
}

// spawn returns what the background process says when it is ready, or nothing when it ended before. If ctx ends first,
// it ends the process.
func (o upOptions) spawn(ctx context.Context, log *os.File) ([]byte, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd := exec.Command(program, o.arguments()...)
	cmd.Args[0] = o.program // so that its welcome can be typed here
	cmd.Dir = "/"           // hold no folder that somebody may want to unmount
	cmd.Env = append(os.Environ(), readyVariable+"="+strconv.Itoa(readyFD))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it is gone already
		time.AfterFunc(killPatience, func() { _ = cmd.Process.Kill() })
	})()
	welcome, err := io.ReadAll(read) // ends when the process has written it, or has ended
	if err != nil || len(welcome) > 0 {
		return welcome, err
	}
	// The exit code says no more than the missing welcome; what happened is in the log.
	_ = cmd.Wait()
	return nil, nil
}

// arguments is the command line of the background process.
func (o upOptions) arguments() []string {
	arguments := []string{
		"up", "--data-dir=" + o.dataDir, "--listen=" + o.server.listen, "--v=" + strconv.Itoa(int(o.verbosity)),
		"--cloud=" + strconv.FormatBool(o.withCloud), "--cloud-listen=" + o.cloud.listen,
		"--cloud-admin=" + strconv.FormatBool(o.cloud.admin),
		"--poll-interval=" + o.controllers.pollInterval.String(),
	}
	if o.controllers.metrics.chosen {
		arguments = append(arguments, "--metrics-listen="+o.controllers.metrics.address)
	}
	for _, name := range o.server.names {
		arguments = append(arguments, "--tls-san="+name)
	}
	return arguments
}

// didNotStart explains with the end of what the background process has logged.
func (o upOptions) didNotStart(ctx context.Context, begin int64) error {
	reason := "it ended before it was ready"
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		reason = fmt.Sprintf("it was not ready after %s and was ended", detachTimeout)
	case ctx.Err() != nil:
		reason = "interrupted"
	}
	return fmt.Errorf("starting in the background: %s; the end of %s:\n%s", reason, logPath(o.dataDir), tail(logPath(o.dataDir), begin))
}

// tail returns the end of a file, but nothing from before the given offset, in whole lines.
func tail(path string, begin int64) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		return []byte("(" + err.Error() + ")")
	}
	content = content[min(begin, int64(len(content))):]
	if cut := len(content) - logTail; cut > 0 {
		content = content[cut:]
		if newline := bytes.IndexByte(content, '\n'); newline >= 0 {
			content = content[newline+1:]
		}
	}
	return bytes.TrimRight(content, "\n")
}

// openLog opens the log for appending. One that has grown large becomes bowline.log.1, in place of an older one.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogSize {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("rotating log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening log: %w", err)
	}
	return f, nil
}

// readySignal returns where the welcome goes: the standard output, or the file that the starter of a detached process
// reads. Closing that one tells the starter that the welcome is complete.
func readySignal(out io.Writer) (io.WriteCloser, error) {
	value, ok := os.LookupEnv(readyVariable)
	if !ok {
		return nopCloser{out}, nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", readyVariable, err)
	}
	// Neither the variable nor the file is for the programs that this one starts.
	if err := os.Unsetenv(readyVariable); err != nil {
		return nil, fmt.Errorf("clearing %s: %w", readyVariable, err)
	}
	syscall.CloseOnExec(fd)
	return &onceCloser{File: os.NewFile(uintptr(fd), "ready")}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// onceCloser may be closed again without an error.
type onceCloser struct{ *os.File }

func (c *onceCloser) Close() error {
	if err := c.File.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
