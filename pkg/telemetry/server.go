// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// A Server serves the metrics of the process to Prometheus at /metrics.
type Server struct {
	Listen   string           // host:port; empty for none
	Former   string           // port of an earlier start, taken instead of port 0 while it is free; optional
	GiveWay  bool             // run without metrics if another program has the address
	OnListen func(url string) // called once metrics are served there; optional
}

// AddTo listens from now on, and serves while the manager runs.
func (s Server) AddTo(mgr manager.Manager) error {
	listener, err := s.listen(mgr.GetLogger())
	if listener == nil || err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	patience := 5 * time.Second
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	return mgr.Add(&manager.Server{Name: "metrics", Server: server, Listener: listener, ShutdownTimeout: &patience})
}

func (s Server) listen(log logr.Logger) (net.Listener, error) {
	if s.Listen == "" {
		return nil, nil
	}
	listener, err := s.open()
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && s.GiveWay:
		log.Info("Metrics are not served: the address is taken; choose one with --metrics-listen", "address", s.Listen)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("serving metrics: %w (the flag is --metrics-listen)", err)
	}
	url := "http://" + listener.Addr().String() + "/metrics"
	log.Info("Metrics are served", "url", url)
	if s.OnListen != nil {
		s.OnListen(url)
	}
	return listener, nil
}

// open takes the former port while it is free, instead of port 0.
func (s Server) open() (net.Listener, error) {
	if host, port, err := net.SplitHostPort(s.Listen); err == nil && port == "0" && s.Former != "" {
		if l, err := net.Listen("tcp", net.JoinHostPort(host, s.Former)); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", s.Listen)
}
