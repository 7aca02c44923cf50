// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry counts and times what the managed runtime does, for Prometheus.
//
// Its one idea: what is recorded is about kinds, never about single objects, so that the number of time series depends on
// what is installed and not on how much is managed. Which object it was is told by logs, spans and conditions; nothing that
// a user or an external system wrote becomes a label.
//
// Whoever reconciles asks Metrics for a Kind and records there; WrapTransport counts the requests to the API server, and
// makes a span of each write within a traced pass. Server answers Prometheus.
//
//	m, err := telemetry.NewMetrics(metrics.Registry) // of controller-runtime; asking twice gives the same metrics
//	config.Wrap(m.WrapTransport)
//	server, err := telemetry.Listen(telemetry.DefaultListen, metrics.Registry)
//	err = mgr.Add(server)
//
// Definitions lists all metrics; the guide docs/guides/observability.md is checked against it.
package telemetry
