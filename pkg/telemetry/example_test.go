// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// A program records what happens to a kind and lets Prometheus read it.
func Example() {
	registry := prometheus.NewRegistry()
	m, err := telemetry.NewMetrics(registry)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Kind("bucket.example.org").Called("create", telemetry.CallThrottled, 3*time.Millisecond)

	server, err := telemetry.Listen("127.0.0.1:0", registry)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = server.Start(ctx) }()
	resp, err := http.Get("http://" + server.Address() + "/metrics")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "bowline_throttled") {
			fmt.Print(line)
		}
	}
	// Output: bowline_throttled_calls_total{kind="bucket.example.org"} 1
}
