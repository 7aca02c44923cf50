// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/go-logr/logr"
)

// TestListen listens on an address that another program has, and on others.
func TestListen(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	const host = "127.0.0.1:"
	taken, free := other.Addr().String(), closed.Addr().String()
	for name, tc := range map[string]struct {
		config Server
		serves bool
		log    string // a part of it
		err    string // a part of it
	}{
		"taken by default": {Server{Listen: taken, GiveWay: true}, false, "--metrics-listen\" address=" + taken, ""},
		"taken, chosen":    {Server{Listen: taken}, false, "", taken + ": bind: address already in use (the flag is "},
		"free by default":  {Server{Listen: "127.0.0.1:0", GiveWay: true}, true, "\"Metrics are served\" url=http://127.0.0.1:", ""},
		"free, chosen":     {Server{Listen: "127.0.0.1:0"}, true, "\"Metrics are served\" url=http://127.0.0.1:", ""},
		"former is taken":  {Server{Listen: "127.0.0.1:0", Former: strings.TrimPrefix(taken, host)}, true, "\"Metrics are served\" url=http://127.0.0.1:", ""},
		"former is free":   {Server{Listen: "127.0.0.1:0", Former: strings.TrimPrefix(free, host)}, true, "\"Metrics are served\" url=http://" + free + "/", ""},
		"none":             {Server{}, false, "", ""},
		"foreign address":  {Server{Listen: "192.0.2.1:8081", GiveWay: true}, false, "", "(the flag is --metrics-listen)"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			server, err := tc.config.listen(logr.FromSlogHandler(slog.NewTextHandler(&log, nil)))
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
