// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	apihelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Lack is a definition that an API server does not have as a program needs it.
type Lack struct {
	Name     string // of the CustomResourceDefinition
	What     string // is missing in it; empty: all of it
	IsServed bool   // in the version that the program uses
}

// String is a sentence without its end.
func (l Lack) String() string {
	if l.What == "" {
		return "custom resource definition " + l.Name + " is missing"
	}
	return fmt.Sprintf("custom resource definition %s lacks %s, as one of an earlier version does", l.Name, l.What)
}

// A Checker tells whether an API server has definitions as a program needs them. What later versions or others added is no lack. It needs
// list on customresourcedefinitions, and is safe for concurrent use.
type Checker struct {
	installer *installer
	wanted    []*apiextensionsv1.CustomResourceDefinition

	mu    sync.Mutex
	known map[string]checked
}

// checked is which state of a definition lacks nothing.
type checked struct {
	uid        types.UID
	generation int64
}

// NewChecker returns a checker for definitions.
func NewChecker(cfg *rest.Config, wanted ...*apiextensionsv1.CustomResourceDefinition) (*Checker, error) {
	i, err := newInstaller(cfg)
	return &Checker{installer: i, wanted: wanted, known: map[string]checked{}}, err
}

// Check returns what is lacking. It reads the names of all definitions, and again those that changed since the last call.
func (c *Checker) Check(ctx context.Context) (lacks []Lack, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind())
	cached := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
	if err := c.installer.client.List(ctx, list, cached); err != nil {
		return nil, fmt.Errorf("listing custom resource definitions: %w", err)
	}
	installed := map[string]checked{}
	for _, definition := range list.Items {
		installed[definition.Name] = checked{definition.UID, definition.Generation}
	}
	for _, wanted := range c.wanted {
		state, exists := installed[wanted.Name]
		if !exists {
			lacks = append(lacks, Lack{Name: wanted.Name})
		} else if c.known[wanted.Name] != state {
			lack, err := c.compare(ctx, wanted)
			if err != nil {
				return nil, err
			}
			if lack != nil {
				lacks = append(lacks, *lack)
				continue
			}
			c.known[wanted.Name] = state
		}
	}
	return lacks, nil
}

// Discover returns an error unless clients discover all kinds, which is a moment after their definitions are installed.
func (c *Checker) Discover() error {
	found, err := c.installer.discover()
	for _, wanted := range c.wanted {
		if err == nil {
			err = found.lacks(wanted)
		}
	}
	return err
}

// compare reads a definition, and returns what it lacks.
func (c *Checker) compare(ctx context.Context, wanted *apiextensionsv1.CustomResourceDefinition) (*Lack, error) {
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := c.installer.client.List(ctx, &list, client.MatchingFields{metav1.ObjectNameField: wanted.Name}); err != nil {
		return nil, fmt.Errorf("reading custom resource definition %s: %w", wanted.Name, err)
	}
	if len(list.Items) == 0 {
		return &Lack{Name: wanted.Name}, nil
	}
	installed := &list.Items[0]
	if !apihelpers.IsCRDConditionTrue(installed, apiextensionsv1.Established) {
		return &Lack{Name: wanted.Name, What: "condition Established"}, nil
	}
	if what, served := lacking(installed, wanted); what != "" {
		return &Lack{wanted.Name, what, served}, nil
	}
	return nil, nil
}

// lacking returns the first version or field of the wanted definition that the installed one does not have, and whether all versions are
// served.
func lacking(installed, wanted *apiextensionsv1.CustomResourceDefinition) (what string, served bool) {
	for _, want := range wanted.Spec.Versions {
		i := slices.IndexFunc(installed.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == want.Name })
		switch {
		case want.Served && (i < 0 || !installed.Spec.Versions[i].Served):
			return "version " + want.Name, false
		case i < 0 || want.Schema == nil || installed.Spec.Versions[i].Schema == nil:
			continue
		}
		if field := LackingField(installed.Spec.Versions[i].Schema.OpenAPIV3Schema, want.Schema.OpenAPIV3Schema); field != "" && what == "" {
			what = fmt.Sprintf("%s in version %s", field, want.Name)
		}
	}
	return what, true
}

// LackingField describes the first field of a wanted schema that another one lacks or has with another type, empty if there is none.
func LackingField(have, want *apiextensionsv1.JSONSchemaProps) string {
	return lackingField(have, want, "")
}

func lackingField(have, want *apiextensionsv1.JSONSchemaProps, path string) string {
	switch {
	case want == nil:
		return ""
	case have == nil:
		return "field " + path
	case have.Type != want.Type:
		return fmt.Sprintf("type %s of field %s", want.Type, path)
	case ptr.Deref(want.XPreserveUnknownFields, false) && !ptr.Deref(have.XPreserveUnknownFields, false),
		want.AdditionalProperties != nil && have.AdditionalProperties == nil:
		return "any further field in " + path
	}
	for _, name := range slices.Sorted(maps.Keys(want.Properties)) {
		property, ok := have.Properties[name]
		if !ok {
			return "field " + path + "." + name
		}
		wanted := want.Properties[name]
		if field := lackingField(&property, &wanted, path+"."+name); field != "" {
			return field
		}
	}
	if want.Items != nil && have.Items != nil {
		return lackingField(have.Items.Schema, want.Items.Schema, path+"[]")
	}
	if want.AdditionalProperties != nil {
		return lackingField(have.AdditionalProperties.Schema, want.AdditionalProperties.Schema, path+"{}")
	}
	return ""
}
