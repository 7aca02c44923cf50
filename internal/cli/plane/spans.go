// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// flushTimeout bounds the export of the last spans when the process ends.
const flushTimeout = 5 * time.Second

// exportSpans returns what sends spans as OpenTelemetry's standard environment variables configure it, nil for nothing. A setting
// that this program does not support is an error, since the user wants spans.
func exportSpans(log logr.Logger, version string) (*trace.TracerProvider, error) {
	wanted, err := spansWanted(os.Getenv)
	if !wanted || err != nil {
		return nil, err
	}
	ctx := context.Background() // nothing is sent yet
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("setting up the export of spans: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "bowline"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Info("Cannot export spans", "error", err.Error()) }))
	return trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about)), nil
}

func spansWanted(getenv func(string) string) (bool, error) {
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return name, value
			}
		}
		return names[0], ""
	}
	_, endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	exporter := getenv("OTEL_TRACES_EXPORTER")
	if endpoint == "" || exporter == "none" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q; use otlp or none", exporter)
	}
	name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if protocol != "" && protocol != "grpc" {
		return false, fmt.Errorf("%s is %q; only grpc is supported: set it to grpc and the endpoint to the collector's port for gRPC, usually 4317", name, protocol)
	}
	return true, nil
}

// flush sends the recorded spans, also after the end of ctx.
func flush(ctx context.Context, spans *trace.TracerProvider) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := spans.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
