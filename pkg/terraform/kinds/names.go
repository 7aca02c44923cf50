// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kube "k8s.io/apimachinery/pkg/runtime/schema"
)

// Version of all kinds.
const Version = "v1alpha1"

const (
	longestName = 63 // of kinds and resources
	longestStem = 48 // of a name with a hash: then its list kind fits, too
)

// The ends of the groups of kinds in the cluster scope and in namespaces.
const (
	clusterGroups    = ".tf.bowline.dev"
	namespacedGroups = ".tf.m.bowline.dev"
)

// IsGroup is true for groups that Group returns.
func IsGroup(group string) bool {
	return strings.HasSuffix(group, clusterGroups) || strings.HasSuffix(group, namespacedGroups)
}

// Group returns the API group of a provider's kinds and configurations in a scope. ClusterProviderConfig is in that of namespaced kinds.
func Group(provider string, scope apiextensionsv1.ResourceScope) string {
	if scope == apiextensionsv1.NamespaceScoped {
		return provider + namespacedGroups
	}
	return provider + clusterGroups
}

// GroupVersionKind returns the kind of a resource type in a scope.
func GroupVersionKind(provider, resourceType string, scope apiextensionsv1.ResourceScope) kube.GroupVersionKind {
	return kube.GroupVersionKind{Group: Group(provider, scope), Version: Version, Kind: Names(provider, resourceType).Kind}
}

// DefinitionNames are the names of the definitions of a resource type, in both scopes.
func DefinitionNames(provider, resourceType string) []string {
	plural := Names(provider, resourceType).Plural
	return []string{plural + "." + Group(provider, apiextensionsv1.ClusterScoped), plural + "." + Group(provider, apiextensionsv1.NamespaceScoped)}
}

// ConfigDefinitionNames are the names of the definitions of a provider's configurations.
func ConfigDefinitionNames(provider string) []string {
	return []string{"providerconfigs." + Group(provider, apiextensionsv1.ClusterScoped), "providerconfigs." + Group(provider, apiextensionsv1.NamespaceScoped),
		"clusterproviderconfigs." + Group(provider, apiextensionsv1.NamespaceScoped)}
}

var (
	unambiguous = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z][a-z0-9]*)*$`)
	// ambiguous names could have the list kind, a plural or the kind of others.
	ambiguous = regexp.MustCompile(`(^|_)list$|(ie|sse|xe|she|[nrt]che)$|^namespacese$|^(cluster_?)?provider_?config$`)

	endsWithIES = regexp.MustCompile(`(^|[^aeiou])y$`)
	endsWithES  = regexp.MustCompile(`(ss|x|sh|[nrt]ch)$`)

	noWord      = regexp.MustCompile(`[^a-z0-9]+`)
	startOfWord = regexp.MustCompile(`_([a-z0-9])`)
	beforeDigit = regexp.MustCompile(`_([0-9])`)
)

// Names returns the names of the kind of a resource type: Role, roles and role for postgresql_role. Resources keep the words of the type
// apart, as in default-privilege for DefaultPrivilege, since data_base and database are different types.
//
// The name of the provider, up to a hyphen, is left out. Names end with a hash of the type if it does not begin with that, is not in lower
// case with words that begin with a letter, is too long, or could have the list kind, plural or kind of another type or of the provider's
// configurations. A name that ends with s, which could be the plural of another, has no singular of its own.
func Names(provider, resourceType string) apiextensionsv1.CustomResourceDefinitionNames {
	prefix, _, _ := strings.Cut(provider, "-")
	name, ok := strings.CutPrefix(resourceType, prefix+"_")
	if ok && unambiguous.MatchString(name) && !ambiguous.MatchString(name) {
		if n := names(name); len(n.ListKind) <= longestName && len(n.Plural) <= longestName {
			return n
		}
	}
	name = strings.Trim(noWord.ReplaceAllString(strings.ToLower(name), "_"), "_")
	name = beforeDigit.ReplaceAllString(name, "$1")
	if name == "" || name[0] < 'a' {
		name = "x" + name
	}
	return names(strings.TrimRight(name[:min(len(name), longestStem)], "_") + "_h" + hash(resourceType))
}

func names(name string) apiextensionsv1.CustomResourceDefinitionNames {
	resource := strings.ReplaceAll(name, "_", "-")
	n := apiextensionsv1.CustomResourceDefinitionNames{Kind: upper(camelCase(name)), Singular: resource, Plural: plural(resource)}
	n.ListKind = n.Kind + "List"
	if strings.HasSuffix(resource, "s") {
		n.Singular = n.Plural
	}
	return n
}

// plural gives no two words the same plural unless one of them is ambiguous. The API server reads what follows /namespaces/ in a path as the name
// of a namespace, also where it would be that of an object in the cluster scope.
func plural(word string) string {
	switch {
	case word == "namespace":
		return "namespaceses"
	case endsWithIES.MatchString(word):
		return strings.TrimSuffix(word, "y") + "ies"
	case endsWithES.MatchString(word):
		return word + "es"
	}
	return word + "s"
}

// camelCase returns fromPort for from_port. An underscore at the beginning stays.
func camelCase(name string) string {
	if name == "" {
		return name
	}
	return name[:1] + startOfWord.ReplaceAllStringFunc(name[1:], func(start string) string { return strings.ToUpper(start[1:]) })
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func hash(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}
