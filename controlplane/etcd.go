// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	maxSocketPath  = 100                     // the kernel's limit is 108 bytes, on other systems 104
	storeQuota     = 8 << 30                 // bytes on disk, beyond which the store refuses writes
	storeStopLimit = 1500 * time.Millisecond // for a store whose loop died and cannot stop in order
)

// store is the embedded etcd. It listens on a Unix socket in the data folder, which only this user can enter, and on
// nothing else.
type store struct {
	etcd   *embed.Etcd
	folder *os.File // kept open while the socket is reached through it, else nil
	socket string
	failed chan error
}

// startStore starts etcd on dataDir/etcd and returns when it listens.
func startStore(dataDir string, noSync bool, log logr.Logger) (*store, error) {
	s := &store{failed: make(chan error, 1)}
	if err := s.openSocket(dataDir); err != nil {
		return nil, err
	}
	var err error
	if s.etcd, err = embed.StartEtcd(s.config(dataDir, noSync, log)); err != nil {
		return nil, errors.Join(err, s.closeFolder())
	}
	return s, nil
}

// waitServes returns when etcd has elected itself and serves.
func (s *store) waitServes(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
		go s.watch()
		return nil
	case err := <-s.etcd.Err():
		return fmt.Errorf("waiting for the store: %w", err)
	case err := <-s.failed:
		return fmt.Errorf("waiting for the store: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openSocket chooses the socket's path. A path too long for the kernel is reached through this process's own handle of
// the folder.
func (s *store) openSocket(dataDir string) error {
	s.socket = filepath.Join(dataDir, "etcd.sock")
	if len(s.socket) <= maxSocketPath {
		return nil
	}
	var err error
	if s.folder, err = os.Open(dataDir); err != nil {
		return fmt.Errorf("opening data folder: %w", err)
	}
	s.socket = fmt.Sprintf("/proc/self/fd/%d/etcd.sock", s.folder.Fd())
	return nil
}

func (s *store) closeFolder() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Close()
}

func (s *store) config(dataDir string, noSync bool, log logr.Logger) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dataDir, "etcd")
	cfg.ListenClientUrls = []url.URL{{Scheme: "unix", Path: s.socket}}
	cfg.ListenPeerUrls = nil
	cfg.AdvertiseClientUrls = []url.URL{{Scheme: "http", Host: "localhost:2379"}} // required; nobody dials it
	cfg.QuotaBackendBytes = storeQuota
	cfg.UnsafeNoFsync = noSync
	// A single member has nobody to wait for: it elects itself after one election timeout, and keeps no log entries for
	// followers that lag behind.
	cfg.TickMs = 10
	cfg.ElectionMs = 100
	cfg.SnapshotCatchUpEntries = 100
	cfg.EnableGRPCGateway = false
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // else every request is reported as slow
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newZapLogger(log, s.fail))
	return cfg
}

// fail records the first reason for which etcd would have ended the process.
func (s *store) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// watch reports a listener or a server that ends without being asked.
func (s *store) watch() {
	select {
	case err, ok := <-s.etcd.Err():
		if ok && err != nil {
			s.fail(err)
		}
	case <-s.etcd.Server.StopNotify():
		s.fail(errors.New("stopped unexpectedly"))
	}
}

// stop ends etcd, which flushes what it holds. It gives up on an etcd that is too broken to end in order.
func (s *store) stop() error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.etcd.Close()
	}()
	var err error
	select {
	case <-done:
	case <-time.After(storeStopLimit):
		err = fmt.Errorf("did not stop within %v", storeStopLimit)
	}
	return errors.Join(err, s.closeFolder())
}

// endpoint is what etcd clients in this process dial.
func (s *store) endpoint() string { return "unix://" + s.socket }
