// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	"k8s.io/kubernetes/pkg/kubeapiserver"

	"github.com/bowline-dev/bowline/controlplane/internal/controllers"
)

// informerResync is Kubernetes' interval for informers of its own server.
const informerResync = 10 * time.Minute

// A shared configuration is that of all three servers.
type shared struct {
	config    *genericapiserver.Config
	informers informers.SharedInformerFactory
	storage   *serverstorage.DefaultStorageFactory
}

// newShared does for one server on one machine what BuildGenericConfig of Kubernetes does, without egress selectors and traces, and with
// the serving certificate for the server's own requests too: Kubernetes would generate two RSA keys for them at each start.
func newShared(cfg Config, o options.CompletedOptions) (*shared, error) {
	c := genericapiserver.NewConfig(legacyscheme.Codecs)
	c.MergedResourceConfig = controllers.Served()
	if err := errors.Join(o.GenericServerRunOptions.ApplyTo(c), o.SecureServing.SecureServingOptions.ApplyTo(&c.SecureServing)); err != nil {
		return nil, err
	}
	var err error
	if c.LoopbackClientConfig, err = loopback(cfg); err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(c.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("building loopback client: %w", err)
	}
	s := &shared{config: c, informers: informers.NewSharedInformerFactoryWithOptions(client, informerResync, informers.WithTransform(dropManagedFields))}
	if err := errors.Join(o.Features.ApplyTo(c, client, s.informers),
		o.APIEnablement.ApplyTo(c, c.MergedResourceConfig, legacyscheme.Scheme)); err != nil {
		return nil, err
	}
	namer := openapinamer.NewDefinitionNamer(legacyscheme.Scheme, apiextensionsserver.Scheme, aggregatorscheme.Scheme)
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(openAPIDefinitions), namer)
	c.OpenAPIV3Config.Info.Title = "Kubernetes"
	c.LongRunningFunc = filters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString())
	c.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	if err := s.store(o); err != nil {
		return nil, err
	}
	return s, s.secure(o, client)
}

// loopback is the access of the server to itself, by a token that it accepts while it runs.
func loopback(cfg Config) (*rest.Config, error) {
	authority, err := os.ReadFile(cfg.Keys.AuthorityPath())
	if err != nil {
		return nil, fmt.Errorf("reading certificate authority: %w", err)
	}
	return &rest.Config{
		Host: "https://" + cfg.Listener.Reachable(), BearerToken: rand.Text(),
		TLSClientConfig: rest.TLSClientConfig{CAData: authority, ServerName: "localhost"}, // which is in every serving certificate
		ContentConfig:   rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}, DisableCompression: true,
		QPS: -1, WarningHandler: rest.NoWarnings{},
	}, nil
}

func dropManagedFields(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// store configures where objects are stored.
func (s *shared) store(o options.CompletedOptions) (err error) {
	o.Etcd.StorageConfig.Transport.TracerProvider = noop.NewTracerProvider()
	factory := kubeapiserver.NewStorageFactoryConfigEffectiveVersion(s.config.EffectiveVersion)
	factory.APIResourceConfig = s.config.MergedResourceConfig
	factory.DefaultResourceEncoding.SetEffectiveVersion(s.config.EffectiveVersion)
	if s.storage, err = factory.Complete(o.Etcd).New(); err != nil {
		return fmt.Errorf("configuring storage: %w", err)
	}
	s.storage.StorageConfig.StorageObjectCountTracker = s.config.StorageObjectCountTracker
	return o.Etcd.ApplyWithStorageFactoryTo(s.storage, s.config)
}

// secure configures who the server admits and what they may do.
func (s *shared) secure(o options.CompletedOptions, client kubernetes.Interface) (err error) {
	c, ctx := s.config, wait.ContextForChannel(s.config.DrainedNotify())
	unused := &common.Config{} // of OpenAPI v2, which is required
	err = o.Authentication.ApplyTo(ctx, &c.Authentication, c.SecureServing, nil, unused, c.OpenAPIV3Config, client, s.informers, c.APIServerID)
	if err != nil {
		return fmt.Errorf("configuring authentication: %w", err)
	}
	c.Authorization.Authorizer, c.RuleResolver, _, err = controlplaneapiserver.BuildAuthorizer(ctx, o, nil, c.APIServerID, s.informers)
	if err != nil {
		return fmt.Errorf("configuring authorization: %w", err)
	}
	return o.Audit.ApplyTo(c)
}
