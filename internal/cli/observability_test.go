// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
)

// The objects of a Terraform provider, whose processes have metrics of their own.
const (
	terraformProvider = `
apiVersion: tf.bowline.dev/v1alpha1
kind: TerraformProvider
metadata: {name: time}
spec: {source: hashicorp/time, version: 0.14.2, types: [time_static]}
`
	terraformObject = `
apiVersion: time.tf.bowline.dev/v1alpha1
kind: ProviderConfig
metadata: {name: default}
spec: {}
---
apiVersion: time.tf.bowline.dev/v1alpha1
kind: Static
metadata: {name: start}
spec: {forProvider: {rfc3339: "2026-01-02T03:04:05Z"}}
`
)

// TestObservability checks the metrics, spans and log of one network, from its creation to its deletion.
func TestObservability(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	spans := collectSpans(t)
	m.env = append(m.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.url)
	welcome := m.up(dir, "--metrics-listen", "127.0.0.1:0", "--v", "1", "--cloud-admin", "--terraform-plugins", mirror.Providers(t))
	m.apply(terraformProvider)
	m.must("kubectl", "wait", "terraformprovider/time", "--for", "condition=Ready", "--timeout", "60s")
	m.apply(terraformObject)
	m.must("kubectl", "wait", "static.time.tf.bowline.dev/start", "--for", "condition=Ready", "--timeout", "60s")
	check(t, m.setFaults(dir))
	cloud := regexp.MustCompile(`The local cloud is at (\S+);`).FindStringSubmatch(welcome)
	key := strings.TrimSpace(m.must("cloud", "key", "create", "--project", "demo"))
	m.apply(fmt.Sprintf(networkOfCloud, key, cloud[1]))
	m.must("kubectl", "wait", "network.network.fcp.crossplane.io/watched", "--for", "condition=Ready", "--timeout", "60s")

	var metrics string
	for _, line := range []string{
		`bowline_reconciles_total{kind="network.network.fcp.crossplane.io",outcome="done",reason=""} `,
		`bowline_external_call_duration_seconds_count{kind="network.network.fcp.crossplane.io",outcome="ok",verb="create"} 1`,
		`bowline_time_to_ready_seconds_count{kind="network.network.fcp.crossplane.io"} 1`,
		`bowline_drifted_objects{kind="network.network.fcp.crossplane.io"} 0`,
		`bowline_throttled_calls_total{kind="network.network.fcp.crossplane.io"} `,
		`bowline_api_requests_total{code="2xx",resource="networks.network.fcp.crossplane.io/status",verb="patch"} 1`,
		`workqueue_depth{controller="network.network.fcp.crossplane.io",name="network.network.fcp.crossplane.io",priority="`,
	} {
		testkit.Eventually(t, "a pass that others saw is counted when it ends", func() error {
			if metrics = m.metrics(t, dir); !strings.Contains(metrics, "\n"+line) {
				return fmt.Errorf("no metric %s", line)
			}
			return nil
		})
	}
	evaluate(t, m.metricsURL(t, dir))
	m.must("kubectl", "delete", "network.network.fcp.crossplane.io/watched")
	m.must("down", "--data-dir", dir) // what was recorded last is sent, too
	sent := spans.received()
	status := "patch networks.network.fcp.crossplane.io/status"
	for _, name := range []string{"reconcile Network", "create", "delete", status, "watched", "service.name"} {
		if !strings.Contains(sent, name) {
			t.Errorf("no span has %q", name)
		}
	}
	log := readFile(t, datadir.LogPath(dir))
	about := "kind=network.network.fcp.crossplane.io object=watched externalName="
	for _, part := range []string{"reason=CreatedExternalResource", about, "externalName=net-", "pass="} {
		if !strings.Contains(log, part) {
			t.Errorf("the log has no %s", part)
		}
	}
	for where, text := range map[string]string{"metrics": metrics, "spans": sent, "the log": log} {
		if strings.Contains(text, key) {
			t.Errorf("%s show the key of the cloud (R234)", where)
		}
	}
}

// TestDefaultLog reads the log of a life: each notable event has a line, and nothing else has one.
func TestDefaultLog(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	welcome := m.up(dir, "--metrics-listen", "127.0.0.1:0")
	cloud := regexp.MustCompile(`The local cloud is at (\S+);`).FindStringSubmatch(welcome)
	const definition = "crd/subnets.network.fcp.m.crossplane.io"
	m.apply(pausedSubnet) // a kind that never had an object is not watched
	m.must("kubectl", "delete", "subnets.network.fcp.m.crossplane.io/paused")
	m.must("kubectl", "annotate", definition, "bowline.dev/allow-deletion=true")
	m.must("kubectl", "delete", definition)
	m.apply(fmt.Sprintf(networkOfCloud, "invalid", cloud[1]))
	watched := "network.network.fcp.crossplane.io/watched"
	m.must("kubectl", "wait", watched, "--for", "condition=Synced=False", "--timeout", "60s")
	key := strings.TrimSpace(m.must("cloud", "key", "create", "--project", "demo"))
	m.apply(fmt.Sprintf(networkOfCloud, key, cloud[1]))
	m.must("kubectl", "wait", watched, "--for", "condition=Ready", "--timeout", "60s")
	m.must("kubectl", "delete", watched)
	const uninstalled = "type=*v1alpha3.Subnet"
	testkit.Eventually(t, "the log reports the deleted definition", func() error { // its watch is tried again after some time
		if !strings.Contains(readFile(t, datadir.LogPath(dir)), uninstalled) {
			return errors.New("it does not")
		}
		return nil
	})
	m.must("down", "--data-dir", dir)
	m.up(dir, "--metrics-listen", "127.0.0.1:0")
	m.must("down", "--data-dir", dir)

	log := m.must("logs", "--data-dir", dir)
	about := ` kind=network.network.fcp.crossplane.io object=watched `
	failures := map[string]bool{} // of which there may be several: objects are applied one after the other
	for _, failure := range regexp.MustCompile("Cannot reconcile"+about+`.*error=(.*)`).FindAllStringSubmatch(log, -1) {
		if failures[failure[1]] {
			t.Errorf("the log repeats %s", failure[1])
		}
		failures[failure[1]] = true
	}
	if len(failures) == 0 {
		t.Error("the log has no failure")
	}
	for _, part := range []string{"Reconciled again after errors" + about, "Ready" + about,
		"reason=CreatedExternalResource", "reason=DeletedExternalResource", uninstalled} {
		if lines := strings.Count(log, part); lines != 1 {
			t.Errorf("%d lines have %q, want 1", lines, part)
		}
	}
	regular := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (cloud|controllers|bowline): `)
	for line := range strings.Lines(log) {
		if !regular.MatchString(line) {
			t.Errorf("the log has %q", line)
		}
	}
	if lines := strings.Count(log, "\n"); lines > 40 {
		t.Errorf("the log has %d lines, want at most 40:\n%s", lines, log)
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
metadata: {name: watched}
spec: {forProvider: {cidrBlock: 10.1.0.0/16}}
`

const pausedSubnet = `
apiVersion: network.fcp.m.crossplane.io/v1alpha3
kind: Subnet
metadata: {namespace: default, name: paused, annotations: {crossplane.io/paused: "true"}}
spec: {forProvider: {cidrBlock: 10.1.0.0/24, networkId: none}}
`

// metricsURL returns the address of metrics in the log of the server of a data folder.
func (m *machine) metricsURL(t *testing.T, dataDir string) string {
	t.Helper()
	log := readFile(t, datadir.LogPath(dataDir))
	found := regexp.MustCompile(`Metrics are served url=(\S+)`).FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the log has no address of metrics:\n%s", log)
	}
	return found[1]
}

// metrics reads those of the server of a data folder.
func (m *machine) metrics(t *testing.T, dataDir string) string {
	t.Helper()
	resp, err := http.Get(m.metricsURL(t, dataDir))
	check(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("reading metrics: %s, %v", resp.Status, err)
	}
	return string(text)
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
	check(t, err)
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
