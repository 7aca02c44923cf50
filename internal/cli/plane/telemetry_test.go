// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"strings"
	"testing"
)

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
