// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/terraform"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
	"github.com/bowline-dev/bowline/test/bench/bridge"
	"github.com/bowline-dev/bowline/test/bench/inspection"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
)

// settingsVariable makes this program the command bowline with the bench's provider. Its value is settings as JSON.
const settingsVariable = "BOWLINE_BENCH_CONTROLLERS"

type settings struct {
	Socket    string // where to report what was counted
	Latency   time.Duration
	Workers   int
	Kinds     int  // without objects
	Terraform bool // adds the provider for TerraformProviders
}

// counts is what the controllers' process has counted since its start.
type counts struct{ Requests, Calls map[string]int }

// runControllers is this program as the command bowline.
func runControllers(encoded string) int {
	var s settings
	err := json.Unmarshal([]byte(encoded), &s)
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("unix", s.Socket)
	}
	var further provider.Provider
	if err == nil {
		further, err = memvendor.KindsWithoutObjects(s.Kinds, filepath.Join(filepath.Dir(s.Socket), "definitions"))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	requests, v := new(expvar.Map), memvendor.New(s.Latency)
	server := &http.Server{Handler: inspection.Handler(requests, &v.Calls), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	defer server.Close()
	program := cli.Program{
		Providers: []provider.Provider{v.Provider(s.Workers), further},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return inspection.Counted(next, requests)
		},
	}
	if s.Terraform {
		program.Terraform = &controller.Options{Namespace: bridge.SystemNamespace}
		program.Providers = append(program.Providers, terraform.Provider(program.Terraform))
	}
	return program.Run(context.Background(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// controllers is the process of the controllers, with or without an API server.
type controllers struct {
	*process.Process
	http http.Client
}

// withControllers starts the controllers, calls do, and stops them.
func (b *bench) withControllers(ctx context.Context, p *plane, do func(*controllers) error, flags ...string) error {
	c, err := b.startControllers(ctx, p, flags...)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.stop())
}

// startControllers starts this program as `bowline controllers`.
func (b *bench) startControllers(ctx context.Context, p *plane, flags ...string) (*controllers, error) {
	dir, err := os.MkdirTemp(p.dir, "controllers-")
	if err != nil {
		return nil, err
	}
	return b.startSelf(ctx, dir, "The controllers work against", 0, append([]string{"controllers", "--kubeconfig", p.server.Kubeconfig}, flags...)...)
}

// startSelf starts this program as bowline, with a number of kinds without objects.
func (b *bench) startSelf(ctx context.Context, dir, ready string, kinds int, arguments ...string) (*controllers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := settings{Socket: filepath.Join(dir, "socket"), Latency: b.latency, Workers: b.workers, Kinds: kinds,
		Terraform: slices.Contains(arguments, flagPlugins)}
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := &controllers{}
	c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
	}}
	c.Process, err = process.Start(ctx, process.Config{
		Args: append([]string{self}, arguments...), Env: []string{settingsVariable + "=" + string(encoded)},
		Dir: dir, Ready: ready, Limit: time.Minute + time.Duration(kinds)*100*time.Millisecond, Failed: b.failed, Detached: true,
	})
	return c, err
}

func (c *controllers) stop() error {
	c.http.CloseIdleConnections()
	return c.Stop()
}

// counts asks the controllers what they have counted.
func (c *controllers) counts(ctx context.Context) (counts, error) {
	var answer counts
	return answer, c.ask(ctx, http.MethodGet, "/counts", &answer)
}

// heap asks the controllers how many bytes they have in use.
func (c *controllers) heap(ctx context.Context) (bytes float64, err error) {
	return bytes, c.ask(ctx, http.MethodGet, "/heap", &bytes)
}

func (c *controllers) ask(ctx context.Context, method, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://controllers"+path, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking the controllers: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err == nil && response.StatusCode != http.StatusOK:
		err = errors.New(strings.TrimSpace(string(body)))
	case err == nil && answer != nil:
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		return fmt.Errorf("asking the controllers: %w", err)
	}
	return nil
}

// await reads the counts until one of them is as high as wanted.
func (c *controllers) await(ctx context.Context, count func(counts) int, want int) error {
	err := testkit.Poll(ctx, func() error {
		have, err := c.counts(ctx)
		if err == nil && count(have) < want {
			err = fmt.Errorf("the controllers watched or observed %d times, want %d", count(have), want)
		}
		return err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}

func watches(have counts) int { return have.Requests["watch "+plural] }

func observes(have counts) int { return have.Calls["observe"] }
