// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package favouritecloud is a small real cloud: an HTTP/JSON API with projects, API keys, labels, idempotency keys and
// background provisioning. Its database instances are real PostgreSQL servers on this machine, its caches real Redis servers. Its
// networks, subnets and node groups are records only. It can inject faults: see Config.CloudAdmin.
//
// It is the external system of the examples, tests and benchmarks of a control plane, and does not depend on one.
//
//	server, err := favouritecloud.New(favouritecloud.Config{DataDir: "/var/lib/favouritecloud"})
//	err = server.Run(ctx) // until ctx ends; server.Ready() is closed when server.URL() answers
//
// All state is in the data folder. When ctx ends, the servers are stopped, and the next Run starts them again. When the process
// is killed, they continue to run, and the next Run adopts them. README.md describes the API, package sdk is its client. It runs
// on Linux.
package favouritecloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bowline-dev/bowline/favouritecloud/internal/cache"
	"github.com/bowline-dev/bowline/favouritecloud/internal/cluster"
	"github.com/bowline-dev/bowline/favouritecloud/internal/database"
	"github.com/bowline-dev/bowline/favouritecloud/internal/faults"
	"github.com/bowline-dev/bowline/favouritecloud/internal/httpapi"
	"github.com/bowline-dev/bowline/favouritecloud/internal/records"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	clusterapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
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
	anyPort bool // none was chosen
	started atomic.Bool
	kept    atomic.Bool // the servers are to outlive Run
	ready   chan struct{}
	url     string // written before ready is closed
}

// New checks the configuration and returns a server that has not started. It has no side effects.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("configuring cloud: %w", err)
	}
	return &Server{config: c.withDefaults(), anyPort: c.Listen == "", ready: make(chan struct{})}, nil
}

// Ready is closed when the API answers. Instances may still be starting.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// URL returns the address of the API. It is valid once Ready is closed.
func (s *Server) URL() string { return s.url }

// KeepServers lets the servers continue to run when Run ends, as a kill does: the next Run adopts them. It is for a failure of what runs
// beside the cloud, which is no request to stop databases.
func (s *Server) KeepServers() { s.kept.Store(true) }

// Run serves until ctx ends or a component fails, and leaves no goroutine, port or lock behind, and no server unless it fails or
// KeepServers was called. It returns nil when ctx ended, and fails immediately when another cloud uses the data folder or the port is in
// use.
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
	defer func() { err = errors.Join(err, f.close(err != nil || s.kept.Load())) }()
	listener, err := s.listen()
	if err != nil {
		return fmt.Errorf("listening on %s: %w", s.config.Listen, err)
	}
	environment := func(name string) service.Environment {
		return service.Environment{
			Store: f.state, Folder: f.instances, Account: f.account, RetryInterval: s.config.RetryInterval,
			Log: s.config.Log.With("service", name), Kept: s.kept.Load,
		}
	}
	databases := database.New(environment("database"), s.config.PostgresSearchPath, runtime.NumCPU())
	caches := cache.New(environment("cache"), s.config.RedisSearchPath)
	clusters := cluster.New(environment("cluster"), s.config.KubernetesSearchPath)
	kept := records.New(environment("records"))
	if err := errors.Join(databases.Recover(ctx), caches.Recover(ctx), clusters.Recover(ctx)); err != nil {
		if ctx.Err() != nil {
			err = nil // Interrupted by a stop; the next start repeats the recovery.
		}
		return errors.Join(err, listener.Close())
	}
	var injector *faults.Injector
	if s.config.CloudAdmin {
		injector = faults.New()
	}
	checks := func(check httpapi.Verb) map[string]httpapi.Verb {
		return map[string]httpapi.Verb{sdk.VerbCheckPassword: check}
	}
	api := httpapi.New(httpapi.Config{
		ID: f.id, Store: f.state, Faults: injector, AdminTokenHash: f.adminTokenHash, Log: s.config.Log,
		Backup: func(ctx context.Context, w io.Writer, skip []string) error {
			return f.backup(ctx, w, skip, databases, caches, clusters)
		},
		Services: []httpapi.Service{
			{Path: "database/instances", Field: "instances", Resources: databases, Verbs: checks(databases.CheckPassword)},
			{Path: "cache/instances", Field: "instances", Resources: caches, Verbs: checks(caches.CheckPassword)},
			{Path: "clusters", Field: "clusters", Resources: clusters, Views: map[string]httpapi.View{clusterapi.ViewCredentials: clusters.Credentials}},
			{Path: "networks", Field: "networks", Resources: kept.Networks, IgnoresKeys: true},
			{Path: "subnets", Field: "subnets", Resources: kept.Subnets, IgnoresKeys: true},
			{Path: "node-groups", Field: "node_groups", Resources: kept.NodeGroups, Verbs: map[string]httpapi.Verb{sdk.VerbAutoscale: kept.NodeGroups.Autoscale}},
		},
	})
	autoscale := func(ctx context.Context) error { return kept.NodeGroups.Run(ctx, s.config.AutoscaleInterval) }
	return s.serve(ctx, listener, api, databases.Run, caches.Run, clusters.Run, autoscale)
}

// listen keeps the port of an earlier Run while it is free, unless another was chosen: clients have the URL.
func (s *Server) listen() (net.Listener, error) {
	host, port, _ := net.SplitHostPort(s.config.Listen) // Validate has checked it
	if port == "0" || s.anyPort {
		if former, err := read(s.config.DataDir, portFile); err == nil {
			if l, err := net.Listen("tcp", net.JoinHostPort(host, former)); err == nil {
				return l, nil
			}
		}
	}
	return net.Listen("tcp", s.config.Listen)
}

// serve runs the API and the services until ctx ends or one of them fails. The API stops first, so that clients do not see
// servers stop.
func (s *Server) serve(ctx context.Context, listener net.Listener, api http.Handler, run ...func(context.Context) error) error {
	server := &http.Server{
		Handler: api, ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
	}
	if err := s.publish(listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	all, failing := errgroup.WithContext(ctx) // ends also when one fails
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	for _, service := range run {
		all.Go(func() error { return service(life) })
	}
	all.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	s.config.Log.Info("cloud ready", "url", s.url, "data", s.config.DataDir)
	close(s.ready)
	<-failing.Done()
	if ctx.Err() == nil {
		s.KeepServers()
	}
	s.config.Log.Info("cloud stopping", "keepsServers", s.kept.Load())
	err := stopAPI(server)
	stop()
	return errors.Join(err, all.Wait())
}

// publish stores the URL of the API for commands, before any server may run: by the file, bowline down finds what a failed cloud left.
// A full disk keeps no cloud from its start whose address is the same as before.
func (s *Server) publish(listener net.Listener) error {
	s.url = endpointURL(listener.Addr())
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for name, content := range map[string]string{portFile: port, endpointFile: s.url} {
		if former, err := read(s.config.DataDir, name); err == nil && former == content {
			continue
		}
		if err := writeFile(filepath.Join(s.config.DataDir, name), content+"\n"); err != nil {
			return fmt.Errorf("writing endpoint: %w", err)
		}
	}
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

// Default values of Config.
const (
	DefaultListen            = "127.0.0.1:7070" // the default of Config.Listen
	DefaultRetryInterval     = 10 * time.Second // the default of Config.RetryInterval
	DefaultAutoscaleInterval = 30 * time.Second // the default of Config.AutoscaleInterval
)

// Config describes a cloud. Only DataDir is required.
type Config struct {
	DataDir string // the folder of all state. It is created if it does not exist. Only one cloud can use it at a time.
	// Listen is the host:port of the API. Port 0 selects a free one at the first start; later starts use it again if they can.
	// Default: DefaultListen, with the port of the last start if there was one and it is free.
	Listen string
	// InstanceDir is the folder of the data of instances, by far the largest part. Default: DataDir/instances. If the cloud runs as
	// root, servers run as another account (postgres, else nobody), which must be able to reach the folder. If it cannot reach
	// DataDir, for example below /root, the default is /var/lib/favouritecloud-HASH, with a hash of DataDir, and DataDir/instances
	// is a link to it. The folder is chosen at the first start; later a different InstanceDir is refused.
	InstanceDir string
	// PostgresSearchPath is searched for PostgreSQL: folders, or patterns of folders as in filepath.Match.
	// Default: the folders of PATH, then /usr/lib/postgresql/*/bin.
	PostgresSearchPath []string
	// RedisSearchPath are the folders that are searched for Redis. Default: the folders of PATH, then /usr/local/bin and /usr/bin.
	RedisSearchPath []string
	// KubernetesSearchPath are the folders that are searched for the program bowline, whose command apiserver clusters run.
	// Default: the folder of this program, then those of PATH.
	KubernetesSearchPath []string
	RetryInterval        time.Duration // the maximum backoff before a failed instance is retried. Default: DefaultRetryInterval.
	// AutoscaleInterval is the pause between steps of the autoscaler of node groups.
	// Default: DefaultAutoscaleInterval.
	AutoscaleInterval time.Duration
	// CloudAdmin enables the routes below /admin, which inject faults into calls and count them. They require the admin token.
	// Default: disabled.
	CloudAdmin bool
	Log        *slog.Logger // receives events, and every request at level debug, but no secrets. Default: discard.
}

func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.RetryInterval = cmp.Or(c.RetryInterval, DefaultRetryInterval)
	c.AutoscaleInterval = cmp.Or(c.AutoscaleInterval, DefaultAutoscaleInterval)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.PostgresSearchPath == nil {
		c.PostgresSearchPath = database.DefaultSearchPath()
	}
	if c.KubernetesSearchPath == nil {
		c.KubernetesSearchPath = cluster.DefaultSearchPath()
	}
	if c.RedisSearchPath == nil {
		c.RedisSearchPath = cache.DefaultSearchPath()
	}
	return c
}

// Validate returns every problem of the configuration, joined.
func (c Config) Validate() error {
	var problems []error
	if c.DataDir == "" {
		problems = append(problems, errors.New("data folder is required"))
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			problems = append(problems, fmt.Errorf("listen address %q is not host:port: %w", c.Listen, err))
		}
	}
	if c.RetryInterval < 0 {
		problems = append(problems, fmt.Errorf("retry interval %s is negative", c.RetryInterval))
	}
	if c.AutoscaleInterval < 0 {
		problems = append(problems, fmt.Errorf("autoscale interval %s is negative", c.AutoscaleInterval))
	}
	return errors.Join(problems...)
}
