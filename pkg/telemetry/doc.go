// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry counts and times what the managed runtime does, for Prometheus.
//
// Metrics are about kinds, never about single objects, so that the number of time series depends on what is installed and not
// on how many objects there are. Logs, spans and conditions identify the object; no text of a user or an external system
// becomes a label.
//
// Reconcilers get a Kind from Metrics and record there; WrapTransport counts the requests to the API server, and records a
// span of each write within a traced pass. The guide docs/guides/observability.md lists all metrics.
//
//	m, err := telemetry.NewMetrics(metrics.Registry) // of controller-runtime; asking twice gives the same metrics
//	config.Wrap(m.WrapTransport)
package telemetry
