// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestObservability looks at what a process tells about one network, from its creation to its deletion.
func TestObservability(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	spans := collectSpans(t)
	m.env = append(m.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.url)
	welcome := m.up(dir, "--metrics-listen", "127.0.0.1:0", "--v", "1")
	cloud := regexp.MustCompile(`The local cloud is at (\S+);`).FindStringSubmatch(welcome)
	key := strings.TrimSpace(m.must("cloud", "key", "create", "--project", "demo"))
	m.apply(t, fmt.Sprintf(networkOfCloud, key, cloud[1]))
	m.must("kubectl", "wait", "network.network.fcp.crossplane.io/told", "--for", "condition=Ready", "--timeout", "60s")

	metrics := m.metrics(t, dir)
	for _, line := range []string{
		`bowline_reconciles_total{kind="network.network.fcp.crossplane.io",outcome="done",reason=""} `,
		`bowline_external_call_duration_seconds_count{kind="network.network.fcp.crossplane.io",outcome="ok",verb="create"} 1`,
		`bowline_time_to_ready_seconds_count{kind="network.network.fcp.crossplane.io"} 1`,
		`bowline_drifted_objects{kind="network.network.fcp.crossplane.io"} 0`,
		`bowline_throttled_calls_total{kind="network.network.fcp.crossplane.io"} `,
		`bowline_api_requests_total{code="2xx",resource="networks.network.fcp.crossplane.io/status",verb="patch"} 1`,
		`workqueue_depth{controller="network.network.fcp.crossplane.io",name="network.network.fcp.crossplane.io",priority="`,
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("no metric %s", line)
		}
	}
	m.must("kubectl", "delete", "network.network.fcp.crossplane.io/told")
	m.must("down", "--data-dir", dir) // what was recorded last is sent, too
	sent := spans.received()
	status := "patch networks.network.fcp.crossplane.io/status"
	for _, name := range []string{"reconcile Network", "create", "delete", status, "told", "service.name"} {
		if !strings.Contains(sent, name) {
			t.Errorf("no span says %q", name)
		}
	}
	log := m.log(t, dir)
	about := "kind=network.network.fcp.crossplane.io object=told externalName="
	for _, part := range []string{"reason=CreatedExternalResource", about, "externalName=net-", "pass="} {
		if !strings.Contains(log, part) {
			t.Errorf("the log does not say %s", part)
		}
	}
	for where, text := range map[string]string{"metrics": metrics, "spans": sent, "the log": log} {
		if strings.Contains(text, key) {
			t.Errorf("R234 %s show the key of the cloud", where)
		}
	}
}

const networkOfCloud = `
apiVersion: v1
kind: Secret
metadata: {namespace: default, name: cloud}
stringData: {key: %s}
---
apiVersion: fcp.crossplane.io/v1alpha3
kind: ProviderConfig
metadata: {name: default}
spec:
  projectID: demo
  endpoint: %s
  credentials: {source: Secret, secretRef: {namespace: default, name: cloud, key: key}}
---
apiVersion: network.fcp.crossplane.io/v1alpha3
kind: Network
metadata: {name: told}
spec: {forProvider: {cidrBlock: 10.1.0.0/16}}
`

func (m *machine) apply(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.must("kubectl", "apply", "-f", file)
}

func (m *machine) log(t *testing.T, dataDir string) string {
	t.Helper()
	text, err := os.ReadFile(logPath(dataDir))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metrics reads those of the server of a data folder, where its log says that they are.
func (m *machine) metrics(t *testing.T, dataDir string) string {
	t.Helper()
	found := regexp.MustCompile(`Metrics are served url=(\S+)`).FindStringSubmatch(m.log(t, dataDir))
	if found == nil {
		t.Fatalf("the log does not say where metrics are served:\n%s", m.log(t, dataDir))
	}
	resp, err := http.Get(found[1])
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("reading metrics: %s, %v", resp.Status, err)
	}
	return string(text)
}

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
		address metricsAddress
		serves  bool
		log     string // a part of it
		err     string // a part of it
	}{
		"taken by default": {metricsAddress{address: taken}, false, "choose one with --metrics-listen address=" + taken, ""},
		"taken, chosen":    {metricsAddress{address: taken, chosen: true}, false, "", taken + ": bind: address already in use (the flag is "},
		"free by default":  {metricsAddress{address: "127.0.0.1:0"}, true, "Metrics are served url=http://127.0.0.1:", ""},
		"free, chosen":     {metricsAddress{address: "127.0.0.1:0", chosen: true}, true, "Metrics are served url=http://127.0.0.1:", ""},
		"none":             {metricsAddress{chosen: true}, false, "", ""},
		"nobody's address": {metricsAddress{address: "192.0.2.1:8081"}, false, "", "(the flag is --metrics-listen)"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			server, err := tc.address.listen(newLogs(&log, 0).controllers())
			if (server != nil) != tc.serves || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("server %v, error %v", server, err)
			}
			if server != nil {
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			}
			if !strings.Contains(log.String(), tc.log) || tc.log == "" && log.Len() > 0 {
				t.Errorf("the log says %q", &log)
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

// A collector takes spans, as OpenTelemetry's collectors do by gRPC, and keeps their bytes.
type collector struct {
	url string

	mu   sync.Mutex
	sent bytes.Buffer
}

func collectSpans(t *testing.T) *collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{url: "http://" + listener.Addr().String()}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Second, Protocols: &http.Protocols{}}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	return c
}

// ServeHTTP answers a call of TraceService.Export with an empty message.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.sent.Write(body)
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write(make([]byte, 5)) // not compressed, of length 0
	w.Header().Set("Grpc-Status", "0")
}

func (c *collector) received() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent.String()
}
