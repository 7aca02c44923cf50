// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/test/bench/provider"
)

const (
	namespace = "bench" // of the connection Secrets
	resource  = "items" // the plural of the kind
)

// A plane is a fresh API server with the bench's kind installed.
type plane struct {
	dir    string
	server *process.Process
	log    *os.File
	config *rest.Config
	client client.Client // of the administrator, without a cache and without a limit
}

func (b *bench) startPlane(ctx context.Context) (p *plane, err error) {
	dir, err := os.MkdirTemp(b.dir, "plane-")
	if err != nil {
		return nil, err
	}
	p = &plane{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	p.server, p.log, err = b.start(ctx, dir, "The API server is ready", nil,
		b.bowline, "apiserver", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0")
	if err != nil {
		return p, err
	}
	if p.config, err = clientcmd.BuildConfigFromFlags("", p.kubeconfig()); err != nil {
		return p, fmt.Errorf("reading kubeconfig: %w", err)
	}
	p.config.QPS = -1
	definitions, err := crd.Load(provider.Definitions())
	if err != nil {
		return p, err
	}
	if _, err := crd.Apply(ctx, p.config, definitions...); err != nil {
		return p, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), shop.AddToScheme(scheme)); err != nil {
		return p, err
	}
	if p.client, err = client.New(quiet(p.config), client.Options{Scheme: scheme}); err != nil {
		return p, fmt.Errorf("creating client: %w", err)
	}
	return p, p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
}

// quiet drops what the API server warns of, which is the form of our finalizer's name.
func quiet(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

func (p *plane) kubeconfig() string { return controlplane.KubeconfigPath(filepath.Join(p.dir, "data")) }

func (p *plane) stop() error {
	var err error
	if p.server != nil {
		err = errors.Join(p.server.Stop(), p.log.Close())
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// watch returns the raw stream of all changes to the bench's objects since a resource version, or of all objects and
// their changes.
func (p *plane) watch(ctx context.Context, since string) (io.ReadCloser, error) {
	httpClient, err := rest.HTTPClientFor(p.config)
	if err != nil {
		return nil, fmt.Errorf("creating client of the watch: %w", err)
	}
	address := fmt.Sprintf("%s/apis/%s/%s?watch=true&timeoutSeconds=86400&resourceVersion=%s", strings.TrimSuffix(p.config.Host, "/"),
		shop.GroupVersion, resource, since)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := httpClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("watching: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("watching: the API server answers %s", answer.Status)
	}
	return answer.Body, nil
}

// controllers is the process of the controllers.
type controllers struct {
	process *process.Process
	log     *os.File
	http    http.Client
}

// startControllers starts this program as `bowline controllers`.
func (b *bench) startControllers(ctx context.Context, p *plane, flags ...string) (*controllers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.dir, "controllers-")
	if err != nil {
		return nil, err
	}
	s := settings{Socket: filepath.Join(dir, "socket"), Latency: b.latency, Workers: b.workers}
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := &controllers{}
	c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
	}}
	c.process, c.log, err = b.start(ctx, dir, "The controllers work against", []string{settingsVariable + "=" + string(encoded)},
		append([]string{self, "controllers", "--kubeconfig", p.kubeconfig()}, flags...)...)
	return c, err
}

func (c *controllers) stop() error {
	c.http.CloseIdleConnections()
	return errors.Join(c.process.Stop(), c.log.Close())
}

// counts asks the controllers what they have counted.
func (c *controllers) counts(ctx context.Context) (counts, error) {
	var answer counts
	return answer, c.ask(ctx, http.MethodGet, "/counts", &answer)
}

func (c *controllers) startProfile(ctx context.Context, file string) error {
	return c.ask(ctx, http.MethodPost, "/profile?file="+url.QueryEscape(file), nil)
}

func (c *controllers) stopProfile(ctx context.Context) error {
	return c.ask(ctx, http.MethodDelete, "/profile", nil)
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
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("asking the controllers: %s", strings.TrimSpace(string(text)))
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// watching waits until the controllers watch the objects, which is a moment after they are ready.
func (c *controllers) watching(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.until(ctx, func(have counts) error {
		if have.Requests["watch "+resource] == 0 {
			return errors.New("the controllers do not watch " + resource)
		}
		return nil
	})
}

// observed waits until the controllers have observed every object since their start.
func (c *controllers) observed(ctx context.Context, n int) error {
	return c.until(ctx, func(have counts) error {
		if have.Calls["observe"] < n {
			return fmt.Errorf("%d of %d objects were observed", have.Calls["observe"], n)
		}
		return nil
	})
}

// until reads the counts until check returns nil.
func (c *controllers) until(ctx context.Context, check func(counts) error) error {
	err := testkit.Poll(ctx, func() error {
		have, err := c.counts(ctx)
		if err != nil {
			return err
		}
		return check(have)
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}
