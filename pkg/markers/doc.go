// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package markers documents the markers in the comments of API types, which bowline generate reads. It has no code.
//
// # Markers of a package, in doc.go
//
//	+bowline:generate                   opt in: required if the package has no other marker of bowline
//	+bowline:system=the cloud           name of the external system in descriptions; default: the external system
//	+bowline:provider=cloud             category of the kinds; default: first label of the group of the ProviderConfig
//	+bowline:namespacedGroup=G          group of the second scope; default: .m before the last two labels
//	+bowline:providerConfigGroup=G      group of the ProviderConfig; default: the longest suffix of the package's group
//
// # Markers of a kind
//
//	+bowline:scopes=Cluster,Namespaced  one or both
//	+bowline:providerconfig             a provider configuration whose spec does not embed xpv1.ProviderSpec
//	+bowline:workload                   what runs in the cluster of a target: namespaced, with conditions
//	+bowline:class=Kind.group,…         the cluster-scoped managed kind K has a class, KClass, which satisfies these claim
//	                                    kinds; the first one is a label of its definition. It has the same settings, but
//	                                    none of them is immutable (R277)
//	+bowline:claims=Kind.group,…        the same, on a class that the author declared
//	+bowline:holdsData                  people store data in the external resources: a lost one is not created again without
//	                                    permission (N38), and objects are protected from deletion by default (N39)
//
// # Markers of a field of the settings
//
//	+optional                           the field is a pointer, list or map with omitempty
//	+immutable                          can be set once; enforced by the API server. By default texts are limited to 1024
//	                                    characters, and lists and maps to 64 items, because the rule compares them. It also
//	                                    applies in initProvider, unless forProvider sets the field or it is in a list. A
//	                                    setting of a claim can be changed until the claim has its managed resource
//	+bowline:required                   required in forProvider or initProvider, by value, reference or selector, unless
//	                                    managementPolicies exclude Create and Update; also in the only item of a list with
//	                                    MaxItems=1; in an optional struct only if that is set
//	+bowline:compare=W;W                set, ignoreCase, json, ignore, writeOnly, extra, chosen: see Rules of pkg/kind/parameters;
//	                                    chosen is for unset fields that others change, which must not be late-initialized
//	+bowline:default=JSON               the value that an empty value of the external system stands for, unless the user sets
//	                                    the empty value or the observed field is a pointer; not in lists
//	+bowline:sensitive                  the value is never shown
//	+bowline:labels                     this map[string]string contains the labels of the external resource
//	+bowline:generated=KEY              without this reference to a Secret, a random value is generated and published as KEY of
//	                                    the connection secret; not in lists; the comment must mention the random value
//	+crossplane:generate:reference:type=Kind, or import/path.Kind; in the second scope it is that scope's kind
//	+crossplane:generate:reference:extractor=import/path.Function(), refFieldName=…, selectorFieldName=…
//	+bowline:nolint=RULE reason         disables a rule of bowline generate here
//
// Settings of a claim may only have +optional, +bowline:nolint and, outside of lists and maps, +immutable.
//
// A field with a reference has two fields beside it: NetworkIDRef *xpv1.Reference and NetworkIDSelector *xpv1.Selector for
// NetworkID, SubnetIDRefs []xpv1.Reference and SubnetIDSelector for SubnetIDs; xpv1.NamespacedReference and
// xpv1.NamespacedSelector for references to other namespaces.
package markers
