// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/process"
	"github.com/bowline-dev/bowline/favouritecloud/internal/serverlog"
)

// readyPoll is the pause between two looks at a server that starts.
const readyPoll = 25 * time.Millisecond

// Server is a running Redis server.
type Server struct {
	*process.Process // Close leaves the server running

	instance *Instance
	logStart int64 // where in the log begins what happened since we know the server
}

// WaitReady returns the version, major and minor, and the port of the server as soon as it serves clients. It fails when the
// server ends, with the reason that it logged, or when ctx does.
func (s *Server) WaitReady(ctx context.Context) (version string, port int, err error) {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if seen, err := s.status(ctx); err == nil && !seen.loading && seen.pid == s.Pid() {
			return seen.version, seen.port, nil
		}
		select {
		case <-s.Exited():
			words := lastLine(serverlog.Since(s.instance.log(), s.logStart))
			return "", 0, fmt.Errorf("server ended while starting: %s", words)
		case <-ctx.Done():
			return "", 0, fmt.Errorf("waiting for server to accept connections: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *Server) status(ctx context.Context) (status, error) {
	c, err := dial(ctx, s.instance.data(), s.instance.secret)
	if err != nil {
		return status{}, err
	}
	defer c.close()
	return c.status()
}

// Apply gives the running server the settings, other than the port. Connections go on, also those that were opened with
// another password. Errors hold no password.
func (s *Server) Apply(ctx context.Context, settings Settings) error {
	c, err := dial(ctx, s.instance.data(), s.instance.secret)
	if err != nil {
		return err
	}
	defer c.close()
	for _, command := range [][]string{
		{"CONFIG", "SET", "maxmemory", settings.memory(), "maxmemory-policy", settings.EvictionPolicy},
		append([]string{"ACL", "SETUSER", Username}, settings.clientRules()...),
	} {
		if _, err := c.do(command...); err != nil {
			return fmt.Errorf("changing settings: %w", err)
		}
	}
	return nil
}

// Stop ends the server in an orderly way: everything is written back. If that takes too long it is killed, which loses
// nothing either.
func (s *Server) Stop(ctx context.Context) error {
	return s.End(ctx, unix.SIGTERM, s.instance.Clear)
}

func isRefusal(err error) bool {
	_, refused := errors.AsType[*replyError](err)
	return refused
}
