// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs the generic API server of Kubernetes with custom resources, without pods and nodes, and its controllers.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"

	"github.com/bowline-dev/bowline/controlplane/internal/controllers"
	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// serviceAccountIssuer is the issuer and the audience of service account tokens.
const serviceAccountIssuer = "https://kubernetes.default.svc.cluster.local"

// maxStreams is how many requests and watches a connection carries at a time. The default, 100, is fewer than a process with many
// kinds has watches; 1000 is what Kubernetes recommends to servers of extensions.
const maxStreams = 1000

const (
	hooksTimeout = 3 * time.Second // for hooks of the start, if the server is stopped meanwhile
	requestGrace = time.Second     // for requests in flight when the server stops
	stopTimeout  = 5 * time.Second // after that, for parts that ignore cancellation
)

func serverOptions(c Config, tokens *tokenGetter) *options.Options {
	o, listener, keys := options.NewOptions(), c.Listener, c.Keys
	o.SystemNamespaces = nil // bootstrap creates them
	o.Etcd.StorageConfig.Transport.ServerList = []string{c.Store.Endpoint()}
	o.Etcd.SkipHealthEndpoints = true // each dials the store with a client of its own, and goes on for ever after a start that failed
	o.Etcd.EncryptionProviderConfigFilepath = c.Encryption

	o.SecureServing.Listener = listener
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	o.SecureServing.BindAddress = listener.Addr().(*net.TCPAddr).IP
	o.SecureServing.ServerCert.CertKey = genericoptions.CertKey{CertFile: keys.ServingPath(), KeyFile: keys.ServingPath()}
	o.SecureServing.HTTP2MaxStreamsPerConnection = maxStreams
	o.GenericServerRunOptions.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	o.GenericServerRunOptions.ShutdownSendRetryAfter = true // requests in flight are answered before connections close

	o.Authentication = kubeoptions.NewBuiltInAuthenticationOptions().WithClientCert().WithRequestHeader().WithServiceAccounts()
	o.Authentication.ClientCert.ClientCA = keys.AuthorityPath()
	o.Authentication.ServiceAccounts.KeyFiles = []string{keys.SigningPath()}
	o.Authentication.ServiceAccounts.Issuers = []string{serviceAccountIssuer}
	o.Authentication.ServiceAccounts.JWKSURI = serviceAccountIssuer + "/openid/v1/jwks"
	o.Authentication.ServiceAccounts.OptionalTokenGetter = tokens.attach
	o.ServiceAccountSigningKeyFile = keys.SigningPath()
	o.Authorization.Modes = []string{"RBAC"}

	o.Admission.GenericAdmission.DefaultOffPlugins = admissionOff()
	o.Features.EnablePriorityAndFairness = false // needs two more groups and their controllers; the plain limit suffices for one machine
	o.Features.EnableProfiling = false
	return o
}

// A Server is the running chain with the built-in objects and the controllers.
type Server struct {
	failed   chan error
	cancel   context.CancelFunc
	parts    sync.WaitGroup
	listener *Listener
	used     *controllers.Used
}

// Config has the parts that a server uses.
type Config struct {
	Listener    *Listener // the server takes it over
	Store       *etcd.Store
	Keys        *pki.PKI
	Encryption  string                           // file of the keys that encrypt Secrets
	Rewriting   string                           // file that exists while Secrets are encrypted with another key
	Free        func() (uint64, error)           // bytes on the disk of the store
	AdminTokens string                           // file of the hashes of the administrator's tokens; empty for none
	Controllers string                           // user name
	Initial     func() ([]runtime.Object, error) // of a store without definitions, see objects.StoreInitial; may be nil
	Log         logr.Logger
}

// Start returns when the server serves and the built-in objects exist.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	// A single server needs no identity lease, which would write to an idle disk every ten seconds.
	features := map[string]bool{"APIServerIdentity": false, "UnknownVersionInteroperabilityProxy": false}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(features); err != nil {
		return nil, fmt.Errorf("setting feature gates: %w", err)
	}
	if err := checkEncryption(cfg.Encryption); err != nil {
		return nil, fmt.Errorf("checking configuration of encryption: %w", err)
	}
	tokens := &tokenGetter{}
	completed, err := serverOptions(cfg, tokens).Complete(ctx, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("completing options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("validating options: %w", errors.Join(errs...))
	}
	c, err := buildChain(ctx, cfg, completed, tokens)
	if err != nil {
		return nil, err
	}
	prepared := c.aggregator.PrepareRun() // not that of APIAggregator, which would merge the schemas of the servers: schemas serves them
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &Server{failed: make(chan error, 4), cancel: cancel, listener: cfg.Listener, used: c.used}
	a.parts.Go(func() {
		if err := prepared.RunWithContext(running); err != nil {
			a.failed <- err
		}
	})
	if err := a.bringUp(ctx, running, cfg.Keys, c); err != nil {
		// Kubernetes ends the process if the hooks of the start are interrupted.
		hooks, cancel := context.WithTimeout(running, hooksTimeout)
		defer cancel()
		_ = a.await(hooks, c.ready) // after an error there is no more time
		return nil, errors.Join(err, a.Stop())
	}
	return a, nil
}

// Used knows which custom kinds have objects.
func (a *Server) Used() *controllers.Used { return a.used }

// Failed delivers failures of parts of the server.
func (a *Server) Failed() <-chan error { return a.failed }

// Stop ends the controllers and the server, and waits for both. Requests in flight get a moment to finish, then they are cancelled.
func (a *Server) Stop() error {
	a.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.parts.Wait()
	}()
	for _, limit := range []time.Duration{requestGrace, stopTimeout} {
		select {
		case <-done:
			return nil
		case <-time.After(limit):
			a.listener.drop()
		}
	}
	return fmt.Errorf("it did not stop within %v", requestGrace+stopTimeout)
}

// bringUp waits until the server responds, creates the built-in objects and starts the controllers.
func (a *Server) bringUp(ctx, running context.Context, keys *pki.PKI, c *chain) error {
	ca, err := os.ReadFile(keys.AuthorityPath())
	if err != nil {
		return fmt.Errorf("reading certificate authority: %w", err)
	}
	if err := a.await(ctx, c.serves); err != nil {
		return fmt.Errorf("waiting until it serves: %w", err)
	}
	created := make(chan error, 1)
	go func() { created <- a.await(ctx, func(ctx context.Context) error { return bootstrap(ctx, c.client) }) }()
	// To a controller, a kind that discovery does not list has no objects: it would remove a namespace that still has some.
	if err := a.await(ctx, c.discovers); err != nil {
		return errors.Join(fmt.Errorf("waiting until it discovers custom kinds: %w", err), <-created)
	}
	err = controllers.Start(running, controllers.Config{
		Loopback: c.loopback, Client: c.client, Builtins: c.builtins, Definitions: c.definitions, Used: c.used, CA: ca,
		Run: func(loop func(context.Context)) { a.parts.Go(func() { loop(running) }) },
	})
	if err != nil {
		return errors.Join(fmt.Errorf("starting controllers: %w", err), <-created)
	}
	if err := <-created; err != nil {
		return fmt.Errorf("creating built-in objects: %w", err)
	}
	if err := a.await(ctx, c.ready); err != nil { // readiness includes the controllers' caches
		return fmt.Errorf("waiting until it is ready: %w", err)
	}
	return nil
}

// await repeats a request while the server is starting, until it succeeds, a part fails or ctx ends.
func (a *Server) await(ctx context.Context, request func(context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := request(ctx)
		if err == nil || !isStarting(err) {
			return err
		}
		select {
		case <-tick.C:
		case failure := <-a.failed:
			a.failed <- failure // for others that await
			return failure
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// isStarting reports whether an error may come from a server that is still starting, or from a controller that wrote first.
func isStarting(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return true // no response
	}
	code := status.Status().Code
	return apierrors.IsConflict(err) || code == http.StatusForbidden || code == http.StatusNotFound || code == http.StatusTooManyRequests ||
		code >= http.StatusInternalServerError
}

// A Listener closes its connections with itself. net/http would wait another second for peers that watch.
type Listener struct {
	*net.TCPListener
	conns  sync.Map // of *trackedConn
	closed atomic.Bool
}

// Listen opens a listener on a TCP address.
func Listen(ctx context.Context, address string) (*Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another process; choose another port, or 0 for a free one: %w", address, err)
	}
	if err != nil {
		return nil, err
	}
	return &Listener{TCPListener: l.(*net.TCPListener)}, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: c, listener: l}
	l.conns.Store(tracked, nil)
	if l.closed.Load() {
		return nil, errors.Join(net.ErrClosed, tracked.Close())
	}
	return tracked, nil
}

// Close stops listening and closes every connection. It may be repeated.
func (l *Listener) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	defer l.drop()
	return l.TCPListener.Close()
}

// drop closes every connection; new ones are still accepted. An error only means that a peer closed first.
func (l *Listener) drop() {
	l.conns.Range(func(c, _ any) bool {
		c.(*trackedConn).Close()
		return true
	})
}

type trackedConn struct {
	net.Conn
	listener *Listener
}

func (c *trackedConn) Close() error {
	c.listener.conns.Delete(c)
	return c.Conn.Close()
}

// Reachable returns the host:port for clients on this machine.
func (l *Listener) Reachable() string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok || !a.IP.IsUnspecified() {
		return l.Addr().String()
	}
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.Port}).String()
}
