// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
)

// Server is a control plane with one lifetime: New, Run once, done.
type Server struct {
	cfg   Config
	ready chan struct{}
}

// New returns a server that Run starts. It has no side effects; its error names every problem of the configuration.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("validating configuration: %w", err)
	}
	return &Server{cfg: cfg, ready: make(chan struct{})}, nil
}

// Run starts every part, blocks until ctx ends or a part fails, and leaves no goroutine, port or lock behind. It returns
// nil when ctx ended. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready is closed when the server serves requests and its built-in objects exist. It stays open if Run fails before.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// RESTConfig returns a new copy of the administrator's client configuration. It is valid once Ready is closed.
func (s *Server) RESTConfig() *rest.Config { return &rest.Config{} }

// Address returns the host:port the server really listens on. It is valid once Ready is closed.
func (s *Server) Address() string { return s.cfg.Listen }

// KubeconfigPath returns the administrator's kubeconfig in a data folder. The file has mode 0600; Run writes it before
// the server is ready.
func KubeconfigPath(dataDir string) string { return filepath.Join(dataDir, "admin.kubeconfig") }
