// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// A Role is what a kind is for.
type Role string

// Roles of the objects between a claim and its Secret.
const (
	RoleClaim          Role = "claim"
	RoleClass          Role = "class"
	RoleManaged        Role = "managed resource"
	RoleProviderConfig Role = "provider config"
	RoleOther          Role = "object"
)

// A Kind is a kind of the API server, in the version that the server prefers.
type Kind struct {
	schema.GroupVersionKind
	Resource   string // plural
	Namespaced bool

	names      []string // in lower case, without the group
	categories []string
}

// Role derives the role from the categories of the definition.
func (k Kind) Role() Role {
	for _, c := range k.categories {
		switch c {
		case "claim", "claims":
			return RoleClaim
		case "class", "classes":
			return RoleClass
		case "managed":
			return RoleManaged
		}
	}
	if strings.HasSuffix(k.Kind, "ProviderConfig") {
		return RoleProviderConfig
	}
	return RoleOther
}

// String is the kind as kubectl takes it: <kind>.<group> in lower case.
func (k Kind) String() string { return strings.ToLower(k.GroupKind().String()) }

// is reports whether kubectl takes a word for the kind.
func (k Kind) is(word string) bool {
	word = strings.ToLower(word)
	for _, name := range k.names {
		if word == name || word == name+"."+k.Group || word == name+"."+k.Version+"."+k.Group {
			return true
		}
	}
	return false
}

// kindsOf lists the discovered kinds, each once.
func kindsOf(groups []*restmapper.APIGroupResources) []Kind {
	var kinds []Kind
	seen := map[schema.GroupKind]bool{}
	for _, g := range groups {
		versions := append([]metav1.GroupVersionForDiscovery{g.Group.PreferredVersion}, g.Group.Versions...)
		for _, v := range versions {
			for _, r := range g.VersionedResources[v.Version] {
				gvk := schema.GroupVersionKind{Group: g.Group.Name, Version: v.Version, Kind: r.Kind}
				if seen[gvk.GroupKind()] || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "get") {
					continue
				}
				seen[gvk.GroupKind()] = true
				names := append([]string{strings.ToLower(r.Kind), r.Name, r.SingularName}, r.ShortNames...)
				kinds = append(kinds, Kind{
					GroupVersionKind: gvk, Resource: r.Name, Namespaced: r.Namespaced, categories: r.Categories,
					names: slices.DeleteFunc(names, func(n string) bool { return n == "" }),
				})
			}
		}
	}
	return kinds
}

// OfRole returns all kinds of a role.
func (c *Cluster) OfRole(role Role) (kinds []Kind) {
	for _, k := range c.kinds {
		if k.Role() == role {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Kind returns a kind in the version that the server prefers. It is not ok if the server does not have the kind.
func (c *Cluster) Kind(of schema.GroupKind) (k Kind, ok bool) {
	for _, k := range c.kinds {
		if k.GroupKind() == of {
			return k, true
		}
	}
	return Kind{}, false
}

// ProviderConfigKind returns the configuration kind of a managed kind by its name, empty for ProviderConfig. Its group is a suffix of the
// managed kind's group.
func (c *Cluster) ProviderConfigKind(of schema.GroupKind, name string) (best Kind, ok bool) {
	if name == "" {
		name = "ProviderConfig"
	}
	for _, k := range c.kinds {
		near := k.Group == of.Group || strings.HasSuffix(of.Group, "."+k.Group)
		if k.Kind == name && near && len(k.Group) >= len(best.Group) {
			best, ok = k, true
		}
	}
	return best, ok
}

// called returns the kinds that a word matches.
func (c *Cluster) called(word string) ([]Kind, error) {
	var found []Kind
	for _, k := range c.kinds {
		if k.is(word) {
			found = append(found, k)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	text := fmt.Sprintf("the server has no kind %q; all kinds: kubectl api-resources", word)
	if claims := c.OfRole(RoleClaim); len(claims) > 0 {
		text += "; kinds of claims: " + listOf(claims)
	}
	return nil, &NotFoundError{text}
}

// listOf lists kinds for a message.
func listOf(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
