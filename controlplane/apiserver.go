// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// serviceAccountIssuer is the issuer and the audience of service account tokens.
const serviceAccountIssuer = "https://kubernetes.default.svc.cluster.local"

const (
	hooksLimit   = 3 * time.Second // for what the server does at its start, when it is told to stop meanwhile
	requestGrace = time.Second     // for requests that are under way when the server stops
	stopLimit    = 5 * time.Second // after that, for what ignores being cancelled
)

// setFeatures sets Kubernetes' feature gates, which are the process's; repeating it changes nothing.
//
// A single server needs no lease that says it lives: writing one every ten seconds would keep an idle disk busy.
func setFeatures() error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"APIServerIdentity": false, "UnknownVersionInteroperabilityProxy": false}); err != nil {
		return fmt.Errorf("setting feature gates: %w", err)
	}
	return nil
}

// serverOptions returns the API server's settings, for a listener that is open already.
func serverOptions(listener net.Listener, endpoint string, keys *pki, tokens *tokenGetter) *options.Options {
	o := options.NewOptions()
	o.SystemNamespaces = nil // bootstrap makes them
	o.Etcd.StorageConfig.Transport.ServerList = []string{endpoint}

	o.SecureServing.Listener = listener
	o.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	o.SecureServing.BindAddress = listener.Addr().(*net.TCPAddr).IP
	o.SecureServing.ServerCert.CertKey = genericoptions.CertKey{CertFile: keys.servingPath(), KeyFile: keys.servingPath()}
	o.GenericServerRunOptions.AdvertiseAddress = net.IPv4(127, 0, 0, 1)
	o.GenericServerRunOptions.ShutdownSendRetryAfter = true // requests in flight are answered before connections close

	o.Authentication = kubeoptions.NewBuiltInAuthenticationOptions().WithClientCert().WithRequestHeader().WithServiceAccounts()
	o.Authentication.ClientCert.ClientCA = keys.authorityPath()
	o.Authentication.ServiceAccounts.KeyFiles = []string{keys.signingPath()}
	o.Authentication.ServiceAccounts.Issuers = []string{serviceAccountIssuer}
	o.Authentication.ServiceAccounts.JWKSURI = serviceAccountIssuer + "/openid/v1/jwks"
	o.Authentication.ServiceAccounts.OptionalTokenGetter = tokens.attach
	o.ServiceAccountSigningKeyFile = keys.signingPath()
	o.Authorization.Modes = []string{"RBAC"}

	o.Admission.GenericAdmission.DefaultOffPlugins = admissionOff()
	o.Features.EnablePriorityAndFairness = false // needs two groups and their controllers; the plain limit serves one machine
	o.Features.EnableProfiling = false
	return o
}

// apiServer is the running chain with what it cannot be used without: the built-in objects and the controllers.
type apiServer struct {
	failed   chan error
	cancel   context.CancelFunc
	parts    sync.WaitGroup
	listener *listener
}

// startAPIServer returns when the server serves and the built-in objects exist. The listener is the server's from now on.
func startAPIServer(ctx context.Context, s *Server) (_ *apiServer, err error) {
	if err := setFeatures(); err != nil {
		return nil, err
	}
	tokens := &tokenGetter{}
	completed, err := serverOptions(s.listener, s.store.endpoint(), s.keys, tokens).Complete(ctx, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("completing options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("validating options: %w", errors.Join(errs...))
	}
	c, err := buildChain(completed, tokens, newUsedKinds(s.store), func() error { return s.store.waitServes(ctx) })
	if err != nil {
		return nil, err
	}
	prepared, err := c.aggregator.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &apiServer{failed: make(chan error, 4), cancel: cancel, listener: s.listener}
	a.run(func() error { return prepared.Run(running) })
	defer func() {
		if err != nil {
			a.letHooksEnd(running, c)
			err = errors.Join(err, a.stop())
		}
	}()
	if err := a.bringUp(ctx, running, s.keys, c); err != nil {
		return nil, err
	}
	return a, nil
}

// letHooksEnd waits a moment for what the server does at its start: Kubernetes ends the whole process if that is cut short.
func (a *apiServer) letHooksEnd(ctx context.Context, c *chain) {
	ctx, cancel := context.WithTimeout(ctx, hooksLimit)
	defer cancel()
	client, err := kubernetes.NewForConfig(c.loopback)
	if err != nil {
		return // the server never got as far as its hooks
	}
	_ = a.await(ctx, func(ctx context.Context) error { // either they ended, or there is no more time
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// run starts a part of the server, whose end before stop is a failure.
func (a *apiServer) run(part func() error) {
	a.parts.Go(func() {
		if err := part(); err != nil {
			a.failed <- err
		}
	})
}

// stop ends the controllers and the server, and waits for both. Requests in flight get a moment to finish, then lose their
// connection, which cancels them.
func (a *apiServer) stop() error {
	a.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.parts.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(requestGrace):
	}
	a.listener.drop()
	select {
	case <-done:
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("it did not stop within %v", requestGrace+stopLimit)
	}
}

// bringUp waits until the server answers, then makes the built-in objects and starts the controllers.
func (a *apiServer) bringUp(ctx, running context.Context, keys *pki, c *chain) error {
	client, err := kubernetes.NewForConfig(c.loopback)
	if err != nil {
		return fmt.Errorf("building loopback client: %w", err)
	}
	if err := a.await(ctx, func(ctx context.Context) error { return bootstrap(ctx, client) }); err != nil {
		return fmt.Errorf("making built-in objects: %w", err)
	}
	ca, err := os.ReadFile(keys.authorityPath())
	if err != nil {
		return fmt.Errorf("reading certificate authority: %w", err)
	}
	err = c.startControllers(running, client, ca, func(loop func(context.Context)) {
		a.parts.Go(func() { loop(running) })
	})
	if err != nil {
		return fmt.Errorf("starting controllers: %w", err)
	}
	// The server counts the controllers' caches among what must be ready.
	err = a.await(ctx, func(ctx context.Context) error {
		return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	if err != nil {
		return fmt.Errorf("waiting until it is ready: %w", err)
	}
	return nil
}

// await repeats a request that may come too early until it succeeds, a part fails or ctx ends.
func (a *apiServer) await(ctx context.Context, request func(context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := request(ctx)
		if err == nil || !comesTooEarly(err) {
			return err
		}
		select {
		case <-tick.C:
		case failure := <-a.failed:
			return failure
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// comesTooEarly tells the answers of a server that is still starting from real ones.
func comesTooEarly(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return true // no answer at all
	}
	switch code := status.Status().Code; code {
	case http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
}
