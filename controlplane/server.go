// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/bowline-dev/bowline/controlplane/internal/apiserver"
	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// Server is a control plane with one lifetime: New, Run once, done.
type Server struct {
	cfg   Config
	clock clock.WithTicker
	ready chan struct{}
	ran   atomic.Bool

	// Set by the components in their order, for the later ones.
	lock     *lock
	keys     *pki.PKI
	listener *apiserver.Listener
	store    *etcd.Store
	api      *apiserver.Server

	stopRenewal func() error

	mu    sync.Mutex
	admin *rest.Config
}

// New returns a server that Run starts. It has no side effects; its error names every problem of the configuration.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("validating configuration: %w", err)
	}
	return &Server{cfg: cfg, clock: clock.RealClock{}, ready: make(chan struct{})}, nil
}

// component is one part of the server. start returns when the part is ready, stop when it has ended.
type component struct {
	name  string
	start func(context.Context) error
	stop  func() error
}

// components are the parts in their order of starting. They stop in reverse: the store outlives its users, and the lock is released
// last.
func (s *Server) components() []component {
	return []component{
		{"data folder", s.startFolder, s.stopFolder},
		{"keys", s.startKeys, func() error { return nil }},
		{"listener", s.startListener, func() error { return s.listener.Close() }},
		{"store", s.startStore, func() error { return s.store.Stop() }},
		{"API server", s.startAPI, func() error { return s.api.Stop() }},
		{"certificate renewal", s.startRenewal, func() error { return s.stopRenewal() }},
	}
}

// Run starts every part, blocks until ctx ends or a part fails, and leaves no goroutine, port or lock behind. It returns
// nil when ctx ended, and may be called once. A LockedError reports that another server uses the data folder.
func (s *Server) Run(ctx context.Context) (err error) {
	if s.ran.Swap(true) {
		return errors.New("server has run already")
	}
	kubernetesLog().to(s.cfg.Log)
	for _, c := range s.components() {
		if err := c.start(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("starting %s: %w", c.name, err)
		}
		defer func() {
			if stopErr := c.stop(); stopErr != nil {
				err = errors.Join(err, fmt.Errorf("stopping %s: %w", c.name, stopErr))
			}
		}()
	}
	close(s.ready)
	return s.wait(ctx)
}

// wait returns nil when ctx ends, else the first failure of a part.
func (s *Server) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.store.Failed():
		return fmt.Errorf("running store: %w", err)
	case err := <-s.api.Failed():
		return fmt.Errorf("running API server: %w", err)
	}
}

// Ready is closed when the server serves requests and its built-in objects exist. It stays open if Run fails before.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// RESTConfig returns a copy of the administrator's client configuration. It is valid once Ready is closed, and may be nil before.
func (s *Server) RESTConfig() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin == nil {
		return nil
	}
	return rest.CopyConfig(s.admin)
}

// Address returns the host:port the server really listens on; it is empty until Ready is closed.
func (s *Server) Address() string {
	select {
	case <-s.ready:
		return s.listener.Addr().String()
	default:
		return ""
	}
}

// KubeconfigPath returns the administrator's kubeconfig in a data folder. The file has mode 0600; Run writes it before
// the server is ready, and again when the address or the certificate in it changes.
func KubeconfigPath(dataDir string) string { return filepath.Join(dataDir, "admin.kubeconfig") }

// PrepareFolder creates a data folder, or makes an empty one private. Run does so itself; call it before you put files of your own into
// the folder. It refuses a folder that is open to others and holds other files.
func PrepareFolder(dataDir string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("creating data folder: %w", err)
	}
	return closeFolder(dataDir)
}

func (s *Server) startFolder(context.Context) error {
	err := PrepareFolder(s.cfg.DataDir)
	if err != nil {
		return err
	}
	s.lock, err = acquireLock(s.cfg.DataDir)
	return err
}

// closeFolder makes a folder private unless it has other content: a mistaken data folder such as /tmp must keep its mode.
func closeFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("checking data folder: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("checking data folder: %w", err)
	}
	if len(entries) > 0 {
		if _, err := os.Stat(lockPath(dir)); err != nil {
			return fmt.Errorf("data folder %s is open to other users and holds other files; choose an empty one, or close it (mode 0700)", dir)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("closing data folder to others: %w", err)
	}
	return nil
}

func (s *Server) stopFolder() error { return s.lock.release() }

func (s *Server) startKeys(context.Context) error {
	names := s.cfg.Names
	if host, _, err := net.SplitHostPort(s.cfg.Listen); err == nil && host != "" && !isUnspecified(host) {
		names = append([]string{host}, names...)
	}
	s.keys = &pki.PKI{Dir: filepath.Join(s.cfg.DataDir, "pki"), Names: names, Now: s.clock.Now}
	return s.keys.Ensure()
}

func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

func (s *Server) startListener(ctx context.Context) error {
	var err error
	if s.listener, err = apiserver.Listen(ctx, s.cfg.Listen); err != nil {
		return err
	}
	if err := s.publishAdmin(); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	return nil
}

func (s *Server) startStore(context.Context) error {
	var err error
	s.store, err = etcd.Start(s.cfg.DataDir, s.cfg.NoSync, s.cfg.Log)
	return err
}

func (s *Server) startAPI(ctx context.Context) error {
	var err error
	s.api, err = apiserver.Start(ctx, s.listener, s.store, s.keys)
	return err
}
