// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external makes resource types of Terraform providers managed kinds: its clients create, read, change and delete external resources
// through the provider's process, and keep their states.
//
// # Order of writes
//
// A creation is noted in the object's state, then in the journal; then the provider is asked. Its answer is noted in the journal, then in the
// state; the reconciler stores the external name after both. So the next process knows, wherever one was killed, that nothing was begun, or
// what was made. What a creation made whose provider, or its journal, is killed before it answers is looked for: see ladder.go.
package external

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/pkg/terraform/references"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/pkg/terraform/warnings"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// callTimeout is how long one change may take: providers have limits of their own, of hours for some types.
const callTimeout = 24 * time.Hour

// A Type is a resource type that is served as a kind.
type Type struct {
	Name     string               // of the resource type
	Kind     schema.GroupResource // of its objects
	settings atomic.Pointer[settings]
	Store    *state.Store
	Journal  *journal.Journal // nil for none
	waits    sync.Map         // *wait by the UID of the object
}

// A Bridge makes resource types of one Terraform provider kinds.
type Bridge struct {
	Name    string // of the provider, in the groups of its kinds
	Source  *processes.Source
	Store   *state.Store
	factory *clients.Factory[processes.Settings, *processes.Process]
	types   map[schema.GroupResource]*Type
	scheme  *runtime.Scheme
	// warnings is nil before the first kind is served
	warnings *warnings.Reporter
}

// NewBridge returns a bridge to the provider of a source. The scheme has the kinds with Go types to which objects may refer.
func NewBridge(name string, s *processes.Source, store *state.Store, scheme *runtime.Scheme) *Bridge {
	return &Bridge{Name: name, Source: s, Store: store, factory: s.Factory(), types: map[schema.GroupResource]*Type{}, scheme: scheme}
}

// Provider returns the provider of the configurations, which has no managed kinds yet: see Serve and provider.Setup.
func (b *Bridge) Provider(s *plugin.Schemas) (provider.Provider, error) {
	definitions, err := kinds.ConfigDefinitions(b.Name, s.Provider)
	return b.ProviderOf(definitions), err
}

// ProviderOf is Provider with definitions that are installed.
func (b *Bridge) ProviderOf(configs []*apiextensionsv1.CustomResourceDefinition) provider.Provider {
	p := provider.Provider{Name: "terraform-" + b.Name, AddToScheme: func(*runtime.Scheme) error { return nil }, Defined: configs}
	for _, d := range configs {
		p.Configs = append(p.Configs, unstructured.NewProviderConfig(kindOf(d)))
	}
	return p
}

// Serve returns a resource type as two kinds, with their definitions. The settings count for a type that is served already, too.
func (b *Bridge) Serve(r plugin.Resource, with TypeSettings) ([]provider.Kind, []*apiextensionsv1.CustomResourceDefinition, error) {
	resolved, err := with.resolve(r)
	if err != nil {
		return nil, nil, err
	}
	definitions, err := kinds.Definitions(b.Name, r.Type, r.Schema)
	return b.serve(r.Type, definitions, resolved), definitions, err
}

// ServeInstalled is Serve with definitions that are installed, for objects that no process can serve yet.
func (b *Bridge) ServeInstalled(resourceType string, definitions []*apiextensionsv1.CustomResourceDefinition) []provider.Kind {
	return b.serve(resourceType, definitions, nil)
}

func (b *Bridge) serve(resourceType string, definitions []*apiextensionsv1.CustomResourceDefinition, with *settings) (all []provider.Kind) {
	for _, d := range definitions {
		of := schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
		t := b.types[of]
		if t == nil {
			t = &Type{Name: resourceType, Kind: of, Store: b.Store, Journal: b.Source.Journal}
			b.types[of] = t
			b.Store.RegisterKind(resourceType, kindOf(d), of)
		}
		if with != nil {
			t.settings.Store(with)
		}
		all = append(all, provider.Kind{
			Object: references.Of(unstructured.New(kindOf(d)), b.scheme),
			Connecter: func(s *provider.Setup) managed.ExternalConnecter {
				if b.warnings == nil { // of all kinds, since they share configurations
					b.warnings = warnings.NewReporter(s, b.Store.ReadOnly())
				}
				return connecter{t, b.factory.In(s.Clients()), b.warnings}
			},
			Options: []managed.ReconcilerOption{
				managed.WithVendorNames(), managed.WithBackgroundOperations(callTimeout), managed.WithRecreatePolicy(xpv1.RecreateOnRequest),
			},
		})
	}
	return all
}

func kindOf(d *apiextensionsv1.CustomResourceDefinition) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: d.Spec.Group, Version: d.Spec.Versions[0].Name, Kind: d.Spec.Names.Kind}
}

type connecter struct {
	of       *Type
	pool     *clients.Pool[*processes.Process]
	warnings *warnings.Reporter
}

// Connect returns a client of the provider's process of the object's ProviderConfig.
func (c connecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	lease, err := c.pool.For(ctx, mg)
	if err != nil {
		return nil, err
	}
	of := lease.Client.Schemas.Resource(c.of.Name)
	if of.Schema == nil {
		lease.Release()
		return nil, failure.New(failure.ProviderConfigUnavailable, fmt.Sprintf("the Terraform provider does not serve %s any more: see its TerraformProvider",
			c.of.Name))
	}
	c.warnings.Configured(ctx, lease.Client, lease.SecretValues())
	external := &client{Lease: lease, Type: c.of, object: mg, warnings: c.warnings, Resource: of}
	external.found = external.NoState()
	return external, nil
}

// called classifies the error of a call of the provider. Nil stays nil.
func called(activity string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s the external resource: %w", activity, err)
	if _, unanswered := errors.AsType[*wire.Unanswered](err); unanswered {
		return failure.ForTeam(failure.ExternalCallFailed, messageUnanswered, err)
	}
	return failure.Default(failure.ExternalCallFailed, err)
}

const messageUnanswered = "the provider of the external system did not answer, and the call is repeated: if it lasts, ask your platform team"

// shown is a value in messages, as JSON. Of a secret they show whether there is one, and whether it becomes another one.
func shown(value cty.Value, secret bool) string {
	switch {
	case !value.IsWhollyKnown():
		return "(known after the change)"
	case value.IsNull():
		return ""
	case secret:
		return redact.Hidden
	}
	text, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		return ""
	}
	return string(text)
}
