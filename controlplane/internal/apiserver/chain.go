// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorserver "k8s.io/kube-aggregator/pkg/apiserver"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"

	"github.com/bowline-dev/bowline/controlplane/internal/controllers"
	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/controlplane/internal/objects"
	"github.com/bowline-dev/bowline/controlplane/internal/outlines"
)

// chain is the aggregator, which merges discovery, in front of the servers of built-in and of custom kinds.
type chain struct {
	aggregator  *genericapiserver.GenericAPIServer
	definitions apiextensionsinformers.SharedInformerFactory // of custom resource definitions
	builtins    informers.SharedInformerFactory
	loopback    *rest.Config         // as the server itself
	client      kubernetes.Interface // of loopback
	used        *controllers.Used
}

// serves succeeds when the server answers requests for built-in kinds.
func (c *chain) serves(ctx context.Context) error {
	_, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

// discovers succeeds when discovery lists every stored definition that is established. Others, such as one whose names are taken, do
// not count.
func (c *chain) discovers(ctx context.Context) error {
	const hook = "start-apiextensions-controllers" // ends after the first pass of Kubernetes' controller that fills discovery
	return c.client.CoreV1().RESTClient().Get().AbsPath("/readyz/poststarthook/" + hook).Do(ctx).Error()
}

func (c *chain) ready(ctx context.Context) error {
	return c.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// buildChain wires the three servers; nothing runs yet. It waits for the store late, which elects itself meanwhile.
func buildChain(ctx context.Context, cfg Config, o options.CompletedOptions, tokens *tokenGetter) (*chain, error) {
	base, err := newShared(cfg, o)
	if err != nil {
		return nil, fmt.Errorf("building generic configuration: %w", err)
	}
	generic := base.config
	if err := cfg.Store.WaitReady(ctx); err != nil {
		return nil, err
	}
	if cfg.Initial != nil {
		if err := objects.StoreInitial(ctx, cfg.Store, cfg.Initial); err != nil {
			return nil, fmt.Errorf("storing initial definitions: %w", err)
		}
	}
	if err := encryptSecrets(ctx, cfg, generic.ResourceTransformers.TransformerForResource(corev1.Resource("secrets"))); err != nil {
		return nil, err
	}
	adjustGeneric(generic, cfg)
	if tokens.live, err = kubernetes.NewForConfig(generic.LoopbackClientConfig); err != nil {
		return nil, fmt.Errorf("building loopback client: %w", err)
	}

	resolver := webhook.NewDefaultServiceResolver()
	core, initializers, err := controlplaneapiserver.CreateConfig(o, generic, base.informers, base.storage, resolver, nil)
	if err != nil {
		return nil, fmt.Errorf("configuring built-in kinds: %w", err)
	}
	endUnused(core)
	space, used := &diskSpace{free: cfg.Free, controllers: cfg.Controllers, log: cfg.Log}, controllers.NewUsed(cfg.Store.Count)
	generic.AdmissionControl = admission.NewChainHandler(space, establishAtOnce{}, keepBinding{}, used, generic.AdmissionControl)

	b := &builder{options: o, store: cfg.Store, client: tokens.live, core: core, initializers: initializers, resolver: resolver}
	definitions, cached, err := b.definitions()
	if err != nil {
		return nil, err
	}
	builtins, err := b.builtins(definitions)
	if err != nil {
		return nil, err
	}
	aggregator, err := b.aggregator(definitions, builtins, cached)
	if err != nil {
		return nil, err
	}
	return &chain{
		aggregator: aggregator.GenericAPIServer, definitions: definitions.Informers, builtins: base.informers, loopback: generic.LoopbackClientConfig,
		client: tokens.live, used: used,
	}, nil
}

// adjustGeneric changes settings that have no option.
func adjustGeneric(c *genericapiserver.Config, cfg Config) {
	c.SkipOpenAPIInstallation = true // schemas does it, without v2, which takes time and memory at every change of a definition
	c.EffectiveVersion = withVersion(c.EffectiveVersion)
	c.RESTOptionsGetter = objects.OfKinds(c.RESTOptionsGetter, cfg.Store)
	c.AddHealthChecks(healthz.NamedCheck("etcd", func(r *http.Request) error { return cfg.Store.CheckHealth(r.Context()) }))
	c.DisabledPostStartHooks.Insert(
		"rbac/bootstrap-roles",                         // replaced by bootstrap, which takes a tenth of the time
		"start-cluster-authentication-info-controller", // publishes authorities for extension API servers
		"start-legacy-token-tracking-controller",       // there are no legacy tokens
	)
	// Only probes may be anonymous.
	probes := anonymous.NewAuthenticator([]apiserver.AnonymousAuthCondition{{Path: "/healthz"}, {Path: "/livez"}, {Path: "/readyz"}})
	authenticators := []authenticator.Request{c.Authentication.Authenticator, probes}
	if cfg.AdminTokens != "" { // first, since the others refuse tokens that they do not know
		authenticators = append([]authenticator.Request{adminTokens(cfg.AdminTokens)}, authenticators...)
	}
	c.Authentication.Authenticator = union.NewFailOnError(authenticators...)
}

// endUnused ends the watch of the client authority for extension API servers, which would leave its queue open for ever.
func endUnused(c *controlplaneapiserver.Config) {
	runner, ok := c.ClusterAuthenticationInfo.ClientCA.(dynamiccertificates.ControllerRunner)
	if !ok {
		return
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	runner.Run(ended, 1)
}

type builder struct {
	options      options.CompletedOptions
	store        *etcd.Store
	client       kubernetes.Interface // of the loopback
	core         *controlplaneapiserver.Config
	initializers []admission.PluginInitializer
	resolver     webhook.ServiceResolver
}

func (b *builder) definitions() (*apiextensionsserver.CustomResourceDefinitions, *outlines.Outlines, error) {
	auth := webhook.NewDefaultAuthenticationInfoResolverWrapper(b.core.ProxyTransport, b.core.Generic.EgressSelector, b.core.Generic.LoopbackClientConfig, b.core.Generic.TracerProvider)
	const servers = 1 // with more, a new definition would wait for the others
	c, err := controlplaneapiserver.CreateAPIExtensionsConfig(*b.core.Generic, b.core.VersionedInformers, b.initializers, b.options, servers, b.resolver, auth)
	if err != nil {
		return nil, nil, fmt.Errorf("configuring custom kinds: %w", err)
	}
	c.ExtraConfig.CRDRESTOptionsGetter = objects.OfKinds(c.ExtraConfig.CRDRESTOptionsGetter, b.store)
	c.GenericConfig.RESTOptionsGetter = objects.OfDefinitions(c.GenericConfig.RESTOptionsGetter, b.store)
	notFound := notfoundhandler.New(b.core.Generic.Serializer, genericfilters.NoMuxAndDiscoveryIncompleteKey)
	s, err := c.Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, nil, fmt.Errorf("building custom kinds: %w", err)
	}
	live, err := clientset.NewForConfig(s.GenericAPIServer.LoopbackClientConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("building loopback client of definitions: %w", err)
	}
	o, err := outlines.New(s.Informers.Apiextensions().V1().CustomResourceDefinitions().Informer(), live.ApiextensionsV1().CustomResourceDefinitions())
	if err != nil {
		return nil, nil, fmt.Errorf("preparing cache of definitions: %w", err)
	}
	handler := s.GenericAPIServer.Handler
	handler.Director = o.Handler(handler.Director)
	return s, o, nil
}

func (b *builder) builtins(definitions *apiextensionsserver.CustomResourceDefinitions) (*controlplaneapiserver.Server, error) {
	completed := b.core.Complete()
	s, err := completed.New("bowline-controlplane", definitions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("building built-in kinds: %w", err)
	}
	if err := s.InstallAPIs(storageProviders(completed, b.client.Discovery())...); err != nil {
		return nil, fmt.Errorf("installing built-in kinds: %w", err)
	}
	s.GenericAPIServer.Handler.NonGoRestfulMux.HandleFunc("/openapi/v2", emptySchema)
	return s, nil
}

func (b *builder) aggregator(definitions *apiextensionsserver.CustomResourceDefinitions, builtins *controlplaneapiserver.Server, cached *outlines.Outlines) (*aggregatorserver.APIAggregator, error) {
	c, err := controlplaneapiserver.CreateAggregatorConfig(*b.core.Generic, b.options, b.core.VersionedInformers, b.resolver, b.core.ProxyTransport, b.core.PeerProxy, b.initializers)
	if err != nil {
		return nil, fmt.Errorf("configuring aggregator: %w", err)
	}
	c.GenericConfig.RESTOptionsGetter = objects.OfRegistrations(c.GenericConfig.RESTOptionsGetter, b.store)
	c.ExtraConfig.DisableRemoteAvailableConditionController = true // it watches services and endpoints, which are not served
	s, err := controlplaneapiserver.CreateAggregatorServer(c.Complete(), builtins.GenericAPIServer,
		definitions.Informers.Apiextensions().V1().CustomResourceDefinitions(), true, controlplaneapiserver.DefaultGenericAPIServicePriorities())
	if err != nil {
		return nil, fmt.Errorf("building aggregator: %w", err)
	}
	all := &schemas{
		config:  b.core.Generic.OpenAPIV3Config,
		servers: []*genericapiserver.GenericAPIServer{s.GenericAPIServer, builtins.GenericAPIServer, definitions.GenericAPIServer},
		custom:  definitions.Informers.Apiextensions().V1().CustomResourceDefinitions().Lister(),

		outlines: cached,
	}
	all.install(s.GenericAPIServer.Handler.NonGoRestfulMux)
	return s, nil
}
