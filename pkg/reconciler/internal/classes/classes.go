// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// suffix makes the kind of a class from the kind of what it provides (K29).
const suffix = "Class"

// A Class is what a choice needs to know of one class.
type Class struct {
	Kind    schema.GroupVersionKind
	Name    string
	Labels  labels.Set
	Default bool
	// Namespaces are those whose claims may use the class, by their labels. Nil: all.
	Namespaces *metav1.LabelSelector
}

// same is true if the other says nothing else of a class.
func (c Class) same(other Class) bool {
	return c.Default == other.Default && maps.Equal(c.Labels, other.Labels) && reflect.DeepEqual(c.Namespaces, other.Namespaces)
}

// String names the class for a message.
func (c Class) String() string { return c.Kind.GroupKind().String() + " " + c.Name }

func compare(a, b Class) int {
	return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Name, b.Name))
}

// Classes are all that there are for the claims of one kind. They are known while the manager runs.
type Classes struct {
	mgr     manager.Manager
	log     logr.Logger
	claims  schema.GroupVersionKind
	own     []schema.GroupVersionKind
	changed chan struct{} // holds one sign to look at most
	failed  error         // of For

	mu          sync.Mutex
	definitions map[string]bool // by name: whether their classes are for these claims
	listed      func() bool     // whether definitions holds all of them
	kinds       map[string]*kind
	seen        map[schema.GroupKind]bool // that a definition offered at some time
	news        bool
	listeners   []func() error
}

// For returns the classes for claims of a kind. The caller's own class kinds count also where their definitions do not say
// that they are for such claims.
func For(mgr manager.Manager, claims resource.ClaimKind, own ...resource.ClassKind) *Classes {
	c := &Classes{
		mgr:         mgr,
		log:         mgr.GetLogger().WithValues("claims", schema.GroupVersionKind(claims).GroupKind().String()),
		claims:      schema.GroupVersionKind(claims),
		changed:     make(chan struct{}, 1),
		definitions: map[string]bool{},
		kinds:       map[string]*kind{},
		seen:        map[schema.GroupKind]bool{},
	}
	for _, k := range own {
		c.own = append(c.own, schema.GroupVersionKind(k))
	}
	c.failed = mgr.Add(manager.RunnableFunc(c.run))
	return c
}

// List returns all classes in the order in which they are chosen. An error says that they are not all known yet: who chose
// among some might choose another one than somebody who knows them all.
func (c *Classes) List() ([]Class, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.known(); err != nil {
		return nil, err
	}
	var all []Class
	for _, k := range c.kinds {
		for _, class := range k.classes {
			all = append(all, class)
		}
	}
	slices.SortFunc(all, compare)
	return slices.CompactFunc(all, func(a, b Class) bool { return compare(a, b) == 0 }), nil
}

// known says what is still missing.
func (c *Classes) known() error {
	if c.failed != nil {
		return fmt.Errorf("looking for classes: %w", c.failed)
	}
	if c.listed == nil || !c.listed() {
		return fmt.Errorf("listing definitions of classes: %w", errNotYet)
	}
	for name, offers := range c.definitions {
		if offers && c.kinds[name] == nil {
			return fmt.Errorf("listing %s: %w", name, errNotYet)
		}
	}
	for _, own := range c.own {
		if name := nameOfOwn(own); c.kinds[name] == nil && !c.seen[own.GroupKind()] {
			return fmt.Errorf("listing %s: %w", name, errNotYet)
		}
	}
	for name, k := range c.kinds {
		if err := k.known(); err != nil {
			return fmt.Errorf("listing %s: %w", name, err)
		}
	}
	return nil
}

// nameOfOwn is how a kind is known without a definition that says that its classes are for these claims.
func nameOfOwn(k schema.GroupVersionKind) string { return ofOwn + k.GroupKind().String() }

// ofOwn begins names that no definition has.
const ofOwn = "classes of kind "

// OffersClass is true if classes of the kind, of whatever version, are for these claims. An error says that this is not known
// yet.
func (c *Classes) OffersClass(of schema.GroupKind) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kinds {
		if k.gvk.GroupKind() == of {
			return true, nil
		}
	}
	return false, c.known()
}

// OffersResource is true if classes for these claims provide managed resources of the kind.
func (c *Classes) OffersResource(of schema.GroupKind) (bool, error) {
	return c.OffersClass(schema.GroupKind{Group: of.Group, Kind: of.Kind + suffix})
}

// ControllerName returns the documented name of a controller of claims and what classes provide (R10, R11): the role and
// <claim kind>.<managed kind>.<group> in lower case.
func ControllerName(role string, claims resource.ClaimKind, classes resource.ClassKind) string {
	return strings.ToLower(fmt.Sprintf("%s.%s.%s.%s", role, claims.Kind, strings.TrimSuffix(classes.Kind, suffix), classes.Group))
}
