// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/test/inspect"
)

const (
	siteLabel   = "bowline.dev/crashpoints" // marks a site's objects with its namespace
	cleanUpTime = time.Minute               // limits the clean-up after an attempt
)

// A site is where one attempt at a time runs: a namespace, a project in the cloud, and its configurations, all with one name.
type site struct {
	config          *rest.Config
	client          client.Client
	namespace       string
	project         *inspect.Project
	proxy           *fault.Proxy
	things          *thing.System   // a system in memory beside the project
	kinds           []client.Object // one empty object each
	decoder         runtime.Decoder
	words           *strings.Replacer // of the texts of kinds
	network, subnet string            // A network and a subnet that belong to no object: others are created in them
}

// newSite creates a site on an API server with the provider's kinds.
func newSite(ctx context.Context, config *rest.Config, c *inspect.Cloud) (s *site, err error) {
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), core.Provider().AddToScheme(scheme), fcp.Provider().AddToScheme(scheme),
		thing.AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	s = &site{config: rest.CopyConfig(config), kinds: empties(), things: thing.NewSystem(), decoder: serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()}
	s.config.QPS, s.config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	if s.client, err = client.New(s.config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return nil, err
	}
	s.namespace = namespace.Name
	key, err := c.NewKey(ctx, s.namespace)
	if err != nil {
		return nil, err
	}
	if s.project, err = inspect.NewProject(c.URL(), s.namespace, key); err != nil {
		return nil, err
	}
	n, err := s.project.Networks.Create(ctx, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/8"})
	if err != nil {
		return nil, err
	}
	sub, err := s.project.Subnets.Create(ctx, subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.255.0.0/16"})
	if err != nil {
		return nil, err
	}
	if s.proxy, err = fault.NewProxy(c.URL(), fault.CloudRequest); err != nil {
		return nil, err
	}
	s.network, s.subnet = n.ID, sub.ID
	s.words = strings.NewReplacer("SITE", s.namespace, "NETWORK", n.ID, "SUBNET", sub.ID, "URL", s.proxy.URL(), "KEY", key)
	return s, nil
}

func (s *site) labels() map[string]string { return map[string]string{siteLabel: s.namespace} }

// object returns an object of the site from YAML, in which NAME, OPTION and the words of the site are replaced.
func (s *site) object(text, name, option string) client.Object {
	text = s.words.Replace(strings.NewReplacer("NAME", name, "OPTION", option).Replace(text))
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, text)) // all texts are constants
	}
	o, _, err := s.decoder.Decode(data, nil, nil)
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	of := o.(client.Object)
	of.SetLabels(s.labels())
	return of
}

// declare returns an object of the kind as a user declares it.
func (k kind) declare(s *site, name string, option bool) resource.Managed {
	more := k.plain
	if option {
		more = k.option
	}
	return s.object(k.object, name, more).(resource.Managed)
}

// configurations returns provider configurations of both scopes, and the Secret with the key of the project.
func (s *site) configurations() []client.Object {
	const spec = `metadata: {name: SITE}, spec: {projectID: SITE, endpoint: "URL",
		credentials: {source: Secret, secretRef: {namespace: SITE, name: key, key: key}}}}`
	var all []client.Object
	for _, text := range []string{
		`{apiVersion: v1, kind: Secret, metadata: {namespace: SITE, name: key}, stringData: {key: KEY}}`,
		`{apiVersion: fcp.crossplane.io/v1alpha3, kind: ProviderConfig, ` + spec,
		`{apiVersion: fcp.m.crossplane.io/v1alpha3, kind: ClusterProviderConfig, ` + spec,
	} {
		all = append(all, s.object(text, "", ""))
	}
	return all
}

// cached limits caches to the site.
func (s *site) cached() cache.Options {
	options := managed.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	for _, o := range s.kinds {
		options.ByObject[o] = cache.ByObject{Label: labels.SelectorFromSet(s.labels())}
	}
	for _, c := range fcp.Provider().Configs {
		options.ByObject[c] = cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, s.namespace)}
	}
	return options
}

// empties returns an empty object of each kind of claims, classes and managed resources.
func empties() (all []client.Object) {
	cloud, seen := fcp.Provider(), map[reflect.Type]bool{}
	add := func(o client.Object) {
		if !seen[reflect.TypeOf(o)] {
			seen[reflect.TypeOf(o)] = true
			all = append(all, o)
		}
	}
	for _, c := range cloud.Classes {
		add(c.Claim)
	}
	for _, c := range cloud.Classes {
		add(c.Object)
	}
	for _, k := range cloud.Kinds {
		add(k.Object)
	}
	return append(all, &thing.Thing{})
}

// listed returns all objects of the site in a role.
func listed[T client.Object](ctx context.Context, s *site) (all []T, err error) {
	for _, empty := range s.kinds {
		if _, ok := empty.(T); !ok {
			continue
		}
		gvk, err := s.client.GroupVersionKindFor(empty)
		if err != nil {
			return nil, err
		}
		list, err := s.client.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return nil, err
		}
		if err := s.client.List(ctx, list.(client.ObjectList), client.MatchingLabels(s.labels())); err != nil {
			return nil, err
		}
		items, err := apimeta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, o := range items {
			all = append(all, o.(T))
		}
	}
	return all, nil
}

// external lists the resources of the project, except those that belong to no object by design, and those of Things.
func (s *site) external(ctx context.Context) ([]inspect.External, error) {
	found, err := s.project.All(ctx)
	for name, have := range s.things.Snapshot() {
		found = append(found, inspect.External{Kind: "thing", Name: name, Owner: have.Owner, Setting: fmt.Sprint(have.Size),
			Delete: func(context.Context) error {
				s.things.Do(func(all *thing.System) { delete(all.Resources, name) })
				return nil
			}})
	}
	return slices.DeleteFunc(found, func(e inspect.External) bool { return e.Name == s.network || e.Name == s.subnet }), err
}

// empty deletes all external resources, and waits until they are deleted.
func (s *site) empty(ctx context.Context) error {
	return testkit.Poll(ctx, func() error {
		left, err := s.external(ctx)
		for _, e := range left {
			if gone := e.Delete(ctx); gone != nil && !sdk.IsNotFound(gone) {
				err = errors.Join(err, gone)
			}
		}
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d external resources are left, such as %s", len(left), left[0].Name)
		}
		return err
	})
}

// follow makes all requests to the cloud and to the system of Things those of a process.
func (s *site) follow(p *fault.Process) {
	s.proxy.Follow(p)
	names := map[string]string{"Observe": "GET thing", "FindCreated": "GET things", "Create": "POST thing", "Update": "PUT thing", "Delete": "DELETE thing"}
	s.things.Do(func(all *thing.System) {
		all.Fault = func(verb string) (refuse, lose error) {
			if name, ok := names[verb]; ok {
				return p.Request(name)
			}
			return nil, nil
		}
	})
}

func mergePatch(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

// clear deletes all objects, Secrets and external resources in any state, and repeats what fails. No process may run.
func (s *site) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	if err := testkit.Poll(ctx, func() error { return errors.Join(s.removeObjects(ctx), s.empty(ctx)) }); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	return nil
}

// removeObjects deletes all objects and Secrets, claims first.
func (s *site) removeObjects(ctx context.Context) error {
	all, err := listed[client.Object](ctx, s)
	secrets := &corev1.SecretList{}
	err = errors.Join(err, s.client.List(ctx, secrets, client.InNamespace(s.namespace)))
	for i := range secrets.Items {
		all = append(all, &secrets.Items[i])
	}
	for _, o := range append(all, s.configurations()...) {
		err = errors.Join(err, testkit.Remove(ctx, s.client, o))
	}
	return err
}

// close deletes the site from the API server. The project stays in the cloud.
func (s *site) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	s.proxy.Close()
	err := s.clear(ctx)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	return errors.Join(err, s.client.Delete(ctx, namespace))
}
