// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// DefaultListen is where programs serve metrics by default: only this machine can reach it.
const DefaultListen = "127.0.0.1:8081"

const (
	headerPatience = 5 * time.Second // for a scraper to say what it wants
	stopPatience   = 5 * time.Second // for scrapes under way when the process ends
)

// A Server serves metrics at /metrics, unencrypted and without authentication: they name kinds, and nothing secret.
// It is a Runnable of controller-runtime's managers, with or without the leader's lease.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// Listen returns a server of what a registry gathers that has its address already, and answers when Start runs. Port 0 picks
// a free one.
func Listen(address string, from prometheus.Gatherer) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(from, promhttp.HandlerOpts{}))
	return &Server{listener: listener, server: &http.Server{Handler: mux, ReadHeaderTimeout: headerPatience}}, nil
}

// Address returns host:port as the server has it.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Start serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		stopped <- s.server.Shutdown(patient)
	})
	defer stop()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return <-stopped
}

// Close frees the address of a server that is not to be started.
func (s *Server) Close() error { return s.listener.Close() }

// NeedLeaderElection is false: metrics are served by every replica.
func (*Server) NeedLeaderElection() bool { return false }
