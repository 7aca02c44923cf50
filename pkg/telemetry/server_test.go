// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/pkg/telemetry"
)

func TestServer(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	m.Kind("bucket.example.org")
	s, err := telemetry.Listen("127.0.0.1:0", registry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := telemetry.Listen(s.Address(), registry); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second one on the same address: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	resp, err := http.Get("http://" + s.Address() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(text), `bowline_drifted_objects{kind="bucket.example.org"} 0`) {
		t.Errorf("%v, serves %s", err, text)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	again, err := telemetry.Listen(s.Address(), registry)
	if err != nil {
		t.Fatalf("the address is not free again: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
