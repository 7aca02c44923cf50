// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/cli/logs"
)

// TestMetricsAddress starts servers of metrics on an address that another program has, and on others.
func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	taken := other.Addr().String()
	for name, tc := range map[string]struct {
		address MetricsAddress
		serves  bool
		log     string // a part of it
		err     string // a part of it
	}{
		"taken by default": {MetricsAddress{Address: taken}, false, "choose one with --metrics-listen address=" + taken, ""},
		"taken, chosen":    {MetricsAddress{Address: taken, Chosen: true}, false, "", taken + ": bind: address already in use (the flag is "},
		"free by default":  {MetricsAddress{Address: "127.0.0.1:0"}, true, "Metrics are served url=http://127.0.0.1:", ""},
		"free, chosen":     {MetricsAddress{Address: "127.0.0.1:0", Chosen: true}, true, "Metrics are served url=http://127.0.0.1:", ""},
		"none":             {MetricsAddress{Chosen: true}, false, "", ""},
		"foreign address":  {MetricsAddress{Address: "192.0.2.1:8081"}, false, "", "(the flag is --metrics-listen)"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			server, err := tc.address.listen(logs.New(&log, 0).Controllers())
			if (server != nil) != tc.serves || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("server %v, error %v", server, err)
			}
			if server != nil {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			}
			if !strings.Contains(log.String(), tc.log) || tc.log == "" && log.Len() > 0 {
				t.Errorf("the log is %q", &log)
			}
		})
	}
}

func TestSpansWanted(t *testing.T) {
	t.Parallel()
	const endpoint, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	const protocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	for name, tc := range map[string]struct {
		env  map[string]string
		want bool
		err  string // a part of it
	}{
		"nothing":                 {nil, false, ""},
		"an endpoint":             {map[string]string{endpoint: "http://c:4317"}, true, ""},
		"an endpoint of traces":   {map[string]string{traces: "http://c:4317", "OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"grpc":                    {map[string]string{endpoint: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, ""},
		"disabled":                {map[string]string{endpoint: "http://c:4317", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		"no exporter":             {map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"another exporter":        {map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_EXPORTER": "zipkin"}, false, "zipkin"},
		"another protocol":        {map[string]string{endpoint: "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, false, "4317"},
		"the protocol of traces":  {map[string]string{traces: "http://c:4318", protocol: "http/json"}, false, "TRACES_"},
		"a protocol for nothing":  {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, ""},
		"another one for nothing": {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := spansWanted(func(name string) string { return tc.env[name] })
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%t, %v, want %t, %q", got, err, tc.want, tc.err)
			}
		})
	}
}
