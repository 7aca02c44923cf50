// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bowline-dev/bowline/favouritecloud/internal/faults"
	"github.com/bowline-dev/bowline/favouritecloud/internal/httpapi"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/fleet"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/nodegroup"
)

// Limits of the HTTP server. Requests are small and answered from local state.
const (
	headerTimeout   = 5 * time.Second
	requestTimeout  = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

// Server is one cloud. Call New, then Run once.
type Server struct {
	config  Config
	started atomic.Bool
	ready   chan struct{}
	url     string // written before ready is closed
}

// New checks the configuration and returns a server that has not started. It has no side effects.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configuring cloud: %w", err)
	}
	return &Server{config: c.withDefaults(), ready: make(chan struct{})}, nil
}

// Ready is closed when the API answers. Instances may still be starting.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// URL returns the address of the API. It is valid once Ready is closed.
func (s *Server) URL() string { return s.url }

// Run serves until ctx ends or a component fails, and leaves no goroutine, port, lock or server behind. It returns nil when ctx
// ended, and fails immediately when another cloud uses the data folder or the port is in use.
func (s *Server) Run(ctx context.Context) error {
	if s.started.Swap(true) {
		return errors.New("running cloud: Run was called before")
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("running cloud: %w", err)
	}
	return nil
}

func (s *Server) run(ctx context.Context) (err error) {
	f, err := openFolders(s.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	listener, err := net.Listen("tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", s.config.Listen, err)
	}
	environment := func(service string, searchPath []string) fleet.Environment {
		return fleet.Environment{
			Store: f.state, Folder: f.instances, Account: f.account, SearchPath: searchPath,
			RetryInterval: s.config.RetryInterval, Log: s.config.Log.With("service", service),
		}
	}
	databases := database.New(environment("database", s.config.PostgresSearchPath), runtime.NumCPU())
	caches := cache.New(environment("cache", s.config.RedisSearchPath))
	networks, subnets := network.New(f.state)
	groups := nodegroup.New(nodegroup.Config{
		Store: f.state, SubnetExists: subnets.Exists, AutoscaleInterval: s.config.AutoscaleInterval,
		Log: s.config.Log.With("service", "node groups"),
	})
	subnets.SetUsers(groups.CountUsers)
	if err := errors.Join(databases.Recover(ctx), caches.Recover(ctx)); err != nil {
		if ctx.Err() != nil {
			err = nil // Interrupted by a stop; the next start repeats the recovery.
		}
		return errors.Join(err, listener.Close())
	}
	var injector *faults.Injector
	if s.config.CloudAdmin {
		injector = faults.New()
	}
	run := func(ctx context.Context) error { return runAll(ctx, databases.Run, caches.Run, groups.Run) }
	return s.serve(ctx, listener, run, httpapi.New(httpapi.Config{
		Store: f.state, Databases: databases, Caches: caches, Networks: networks, Subnets: subnets, NodeGroups: groups, Faults: injector,
		AdminTokenHash: f.adminTokenHash, Log: s.config.Log,
	}))
}

// runAll runs services until ctx ends or one of them fails, and returns when all have ended.
func runAll(ctx context.Context, services ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range services {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

// serve runs the API and the services. The API stops first, so that clients do not see servers stop.
func (s *Server) serve(ctx context.Context, listener net.Listener, runServices func(context.Context) error, api http.Handler) error {
	server := &http.Server{
		Handler: api, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
	}
	services, stopServices := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServices()
	apiEnded, servicesEnded := make(chan error, 1), make(chan error, 1)
	go func() { servicesEnded <- runServices(services) }()
	go func() { apiEnded <- server.Serve(listener) }()

	err := s.announce(listener)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-apiEnded:
			apiEnded <- err
		case err = <-servicesEnded:
			servicesEnded <- err
		}
	}
	s.config.Log.Info("cloud stopping")
	err = errors.Join(err, stopAPI(server))
	if served := <-apiEnded; !errors.Is(served, http.ErrServerClosed) && !errors.Is(err, served) {
		err = errors.Join(err, served)
	}
	stopServices()
	if ran := <-servicesEnded; ran != nil && !errors.Is(err, ran) {
		err = errors.Join(err, ran)
	}
	return err
}

// announce publishes the URL of the API to callers in this process, and to commands in the data folder.
func (s *Server) announce(listener net.Listener) error {
	s.url = endpointURL(listener.Addr())
	if err := writeFile(filepath.Join(s.config.DataDir, endpointFile), s.url+"\n"); err != nil {
		return fmt.Errorf("writing endpoint: %w", err)
	}
	s.config.Log.Info("cloud ready", "url", s.url, "data", s.config.DataDir)
	close(s.ready)
	return nil
}

// endpointURL returns the URL of a listener; that of the loopback address if it listens on all addresses.
func endpointURL(listening net.Addr) string {
	if a, ok := listening.(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", a.Port)
	}
	return "http://" + listening.String()
}

func stopAPI(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close() // A client that does not finish is not an error.
	}
	return err
}
