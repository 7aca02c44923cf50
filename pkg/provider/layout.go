// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/apis"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/resource"
)

type layout struct {
	provider Provider
	growing  *sync.RWMutex // guards kinds once controllers run
	kinds    []part[Kind]
	configs  []part[resource.ProviderConfig]
	claims   []part[resource.Claim]
	targets  []part[resource.Target]
	classes  []classPart
}

// A definition has the facts of a kind from its CustomResourceDefinition.
type definition struct {
	gvk        schema.GroupVersionKind
	plural     string
	namespaced bool
	configs    string // group of the ProviderConfigs that objects of a managed kind use; empty for none
	untyped    bool   // it has no Go type
	data       bool   // people store data in the external resources
	status     bool   // it has the status subresource; of a class also: and conditions (N58)
}

type part[T any] struct {
	definition
	object T
}

type classPart struct {
	Class
	claim, class, managed definition
}

func (l *layout) addToScheme(s *runtime.Scheme) error {
	kinds := slices.Concat(typed(l.kinds), typed(l.configs), typed(l.claims), typed(l.targets))
	for _, c := range l.classes {
		kinds = append(kinds, c.class.gvk)
		if !s.Recognizes(c.claim.gvk) {
			if err := addCore(s); err != nil {
				return err
			}
		}
	}
	if l.provider.Extend == nil && !slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool { return !s.Recognizes(gvk) }) {
		return nil
	}
	if err := l.provider.AddToScheme(s); err != nil {
		return fmt.Errorf("adding kinds of provider %s to the scheme: %w", l.provider.Name, err)
	}
	return nil
}

// typed returns the kinds that have a Go type.
func typed[T any](parts []part[T]) (kinds []schema.GroupVersionKind) {
	for _, p := range parts {
		if !p.untyped {
			kinds = append(kinds, p.gvk)
		}
	}
	return kinds
}

func addCore(s *runtime.Scheme) error {
	if err := apis.AddToScheme(s); err != nil {
		return fmt.Errorf("adding the claim kinds of the core to the scheme: %w", err)
	}
	return nil
}

// add adds a kind. It is false for one that is there.
func (l *layout) add(kind part[Kind]) bool {
	l.growing.Lock()
	defer l.growing.Unlock()
	if slices.ContainsFunc(l.kinds, func(k part[Kind]) bool { return k.gvk == kind.gvk }) {
		return false
	}
	l.kinds = append(l.kinds, kind)
	return true
}

func (l *layout) remove(kind part[Kind]) {
	l.growing.Lock()
	defer l.growing.Unlock()
	l.kinds = slices.DeleteFunc(l.kinds, func(k part[Kind]) bool { return k.gvk == kind.gvk })
}

func (l *layout) configGroup(managed schema.GroupKind) string {
	l.growing.RLock()
	defer l.growing.RUnlock()
	for _, k := range l.kinds {
		if k.gvk.GroupKind() == managed {
			return k.configs
		}
	}
	return ""
}

func (l *layout) holdsData(managed schema.GroupVersionKind) bool {
	return slices.ContainsFunc(l.kinds, func(k part[Kind]) bool { return k.gvk.GroupKind() == managed.GroupKind() && k.data })
}

func (l *layout) configKinds() []clients.ConfigKind {
	var kinds []clients.ConfigKind
	for _, c := range l.configs {
		kinds = append(kinds, clients.ConfigKind{Object: c.object, Kind: c.gvk, Namespaced: c.namespaced})
	}
	return kinds
}

// targetKind is the core's kind of targets.
var targetKind = workloadv1alpha1.KubernetesTargetGroupVersionKind

// connects is true if targets can name managed resources of the provider, whose Secrets are then copied.
func (l *layout) connects() bool {
	return slices.ContainsFunc(l.kinds, func(k part[Kind]) bool {
		_, bindable := k.object.Object.(resource.BindableManaged)
		return bindable && !k.untyped && !k.namespaced
	})
}

// usersOf returns the kinds whose objects may use ProviderConfigs of a kind.
func (l *layout) usersOf(config schema.GroupKind) []schema.GroupVersionKind {
	var users []schema.GroupVersionKind
	for _, k := range l.kinds {
		if k.configs == config.Group {
			users = append(users, k.gvk)
		}
	}
	return users
}
