// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"time"

	"github.com/bowline-dev/bowline/internal/cli"
	bowlineprovider "github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/test/bench/count"
	"github.com/bowline-dev/bowline/test/bench/provider"
)

// settingsVariable makes this program the command bowline with the bench's provider. Its value is settings as JSON.
const settingsVariable = "BOWLINE_BENCH_CONTROLLERS"

type settings struct {
	Socket  string        `json:"socket"` // where to tell the harness what was counted
	Latency time.Duration `json:"latency"`
	Workers int           `json:"workers"`
}

// counts is what the controllers' process has counted since its start.
type counts struct {
	Requests map[string]int `json:"requests"`
	Calls    map[string]int `json:"calls"`
}

// runControllers is this program as the command bowline.
func runControllers(encoded string) int {
	var s settings
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		fmt.Fprintf(os.Stderr, "bench: reading %s: %v\n", settingsVariable, err)
		return 1
	}
	requests, cloud := count.New(), provider.NewCloud(s.Latency)
	listener, err := net.Listen("unix", s.Socket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	server := &http.Server{Handler: inspection(requests, cloud.Calls), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	defer server.Close()
	program := cli.Program{
		Providers:     []bowlineprovider.Provider{provider.Provider(cloud, s.Workers)},
		WrapTransport: requests.Transport,
	}
	return program.Run(context.Background(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// inspection answers the harness: what was counted, and profiles of the time between POST and DELETE.
func inspection(requests, calls *count.Counter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(counts{Requests: requests.Snapshot(), Calls: calls.Snapshot()})
	})
	var profile *os.File // the harness sends one request at a time
	mux.HandleFunc("POST /profile", func(w http.ResponseWriter, r *http.Request) {
		var err error
		if profile, err = os.Create(r.URL.Query().Get("file")); err == nil {
			err = pprof.StartCPUProfile(profile)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("DELETE /profile", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		if err := profile.Close(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return mux
}
