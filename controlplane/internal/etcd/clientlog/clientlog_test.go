// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clientlog_test

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd/clientlog"
)

// The API server's own client reports a store that refuses a call to our log, not to the standard error.
func TestEntriesGoToTheLog(t *testing.T) {
	lines := make(chan string, 100)
	clientlog.SendTo(funcr.New(func(_, line string) {
		select {
		case lines <- line:
		default:
		}
	}, funcr.Options{Verbosity: 1}))
	socket := filepath.Join(t.TempDir(), "etcd.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), Protocols: &http.Protocols{}, ReadHeaderTimeout: time.Second}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	config := storagebackend.Config{HealthcheckTimeout: time.Second, Transport: storagebackend.TransportConfig{ServerList: []string{"unix://" + socket}}}
	stop := make(chan struct{})
	defer close(stop)
	check, err := factory.CreateHealthCheck(config, stop)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.After(time.Minute); ; {
		_ = check()
		select {
		case line := <-lines:
			if !strings.Contains(line, "etcd-client") {
				t.Errorf("log %q, want an entry of the etcd client", line)
			}
			return
		case <-deadline:
			t.Fatal("the log has no entry of the etcd client")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
