// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
)

const (
	stopPatience = 60 * time.Second // the cloud's database servers write what they hold
	killPatience = 10 * time.Second
	stopInterval = 2 * time.Second // between signs of progress
)

func newDownCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop everything",
		Long: fmt.Sprintf(`Stops the server and everything that it runs, the cloud's database servers too. State is kept: bowline up goes on where it
was. A server that has not stopped after %s is killed.`, stopPatience),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dataDir, err := folder.client()
			if err != nil {
				return err
			}
			return down(cmd.Context(), std.Out, dataDir)
		},
	}
}

func down(ctx context.Context, out io.Writer, dataDir string) error {
	killed := false
	target, err := findServer(dataDir)
	if err != nil {
		return err
	}
	if target != nil {
		defer target.close()
		if killed, err = target.stop(ctx, out, stopPatience); err != nil {
			return err
		}
	}
	leftovers, err := stopLeftovers(ctx, out, dataDir)
	switch {
	case err != nil:
		return err
	case target == nil && !leftovers:
		fmt.Fprintf(out, "Nothing runs on %s.\n", dataDir)
	case killed:
		fmt.Fprintf(out, "Stopped, by force.\n")
	default:
		fmt.Fprintf(out, "Stopped.\n")
	}
	return nil
}

// A target is a process held by a handle, so that a signal can never reach another that got its number.
type target struct {
	pid    int
	handle int // a pidfd
}

// findServer returns nil when nothing runs on the data folder.
func findServer(dataDir string) (*target, error) {
	pid, ok := controlplane.Holder(dataDir)
	if !ok {
		return nil, nil
	}
	if pid == 0 {
		return nil, fmt.Errorf("a server is just starting on %s; try again", dataDir)
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reaching process %d: %w", pid, err)
	}
	t := &target{pid: pid, handle: handle}
	// Asked again now that the handle cannot change its meaning.
	if again, ok := controlplane.Holder(dataDir); !ok || again != pid {
		t.close()
		return nil, nil
	}
	return t, nil
}

func (t *target) close() { _ = unix.Close(t.handle) } // a read-only handle has nothing to lose

// stop asks the process to stop, and kills it if it does not in time; killed tells which.
func (t *target) stop(ctx context.Context, out io.Writer, patience time.Duration) (killed bool, err error) {
	fmt.Fprintf(out, "Stopping process %d\n", t.pid)
	if err := t.signal(unix.SIGTERM); err != nil {
		return false, err
	}
	begin := time.Now()
	for time.Since(begin) < patience {
		ended, err := t.waitEnd(ctx, min(stopInterval, patience))
		if ended || err != nil {
			return false, err
		}
		fmt.Fprintf(out, "Still stopping after %s\n", time.Since(begin).Round(time.Second))
	}
	fmt.Fprintf(out, "Process %d did not stop within %s: killing it\n", t.pid, patience)
	if err := t.signal(unix.SIGKILL); err != nil {
		return true, err
	}
	ended, err := t.waitEnd(ctx, killPatience)
	if err == nil && !ended {
		err = fmt.Errorf("process %d cannot be killed; it may hang in the kernel", t.pid)
	}
	return true, err
}

func (t *target) signal(s unix.Signal) error {
	err := unix.PidfdSendSignal(t.handle, s, nil, 0)
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("signalling process %d: %w", t.pid, err)
}

// waitEnd waits until the process has ended, as long as the time given.
func (t *target) waitEnd(ctx context.Context, patience time.Duration) (ended bool, err error) {
	deadline := time.Now().Add(patience)
	for ctx.Err() == nil {
		left := time.Until(deadline)
		if left <= 0 {
			return false, nil
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(t.handle), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false, fmt.Errorf("waiting for process %d: %w", t.pid, err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// stopLeftovers stops the database servers of a cloud that was killed, and tells whether there was such a cloud: one that
// stops in peace takes its endpoint file with it. The cloud itself knows its servers best, so it is started, adopts them,
// and is stopped.
func stopLeftovers(ctx context.Context, out io.Writer, dataDir string) (bool, error) {
	_, err := favouritecloud.ReadEndpoint(cloudDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out, "Looking for what the local cloud left behind")
	cloud, err := favouritecloud.New(favouritecloud.Config{DataDir: cloudDir(dataDir), Listen: "127.0.0.1:0"})
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-cloud.Ready():
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := cloud.Run(ctx); err != nil {
		return true, fmt.Errorf("the local cloud of %s cannot be stopped from here (if it runs by itself, press Ctrl-C there): %w", dataDir, err)
	}
	return true, nil
}
