// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// spanExportPatience bounds how long the last spans may take to leave a process that ends.
const spanExportPatience = 5 * time.Second

// A spanExport sends spans to where OpenTelemetry's standard environment variables say. Without them there is none.
type spanExport struct {
	provider *trace.TracerProvider // nil for none
}

// newSpanExport reads the variables. What they ask for and this program cannot do is an error: who sets them wants spans.
func newSpanExport(log logr.Logger, getenv func(string) string) (spanExport, error) {
	wanted, err := spansWanted(getenv)
	if !wanted || err != nil {
		return spanExport{}, err
	}
	ctx := context.Background() // nothing is sent yet
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return spanExport{}, fmt.Errorf("setting up the export of spans: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "bowline"), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return spanExport{}, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Info("Cannot export spans", "error", err.Error()) }))
	return spanExport{trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))}, nil
}

// spansWanted is true if the variables name an endpoint.
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
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: there is otlp, and none", exporter)
	}
	name, protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if protocol != "" && protocol != "grpc" {
		return false, fmt.Errorf("%s is %q: spans are sent by grpc only; name the collector's port for it, usually 4317", name, protocol)
	}
	return true, nil
}

// options make reconcilers record spans.
func (e spanExport) options() []managed.ReconcilerOption {
	if e.provider == nil {
		return nil
	}
	return []managed.ReconcilerOption{managed.WithTracerProvider(e.provider)}
}

// flush sends what was recorded, although ctx ended.
func (e spanExport) flush(ctx context.Context) {
	if e.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spanExportPatience)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		otel.Handle(err)
	}
}
