// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package codegen generates the code and the custom resource definitions of an API. Authors only write settings, observation and
// kind.
//
//	bowline generate ./apis/...           # writes files and prints the names of those that changed
//	bowline generate --check ./apis/...   # writes nothing, and fails if files are not up to date
//
//	//go:generate go run github.com/bowline-dev/bowline/cmd/bowline generate .
//
// It reads the files of the author as syntax, without those of earlier runs; the generated files only depend on them. So a run
// can be repeated, and a check is a comparison. Declarations of the author are not generated again. An argument is the folder of
// an API, usually apis; all packages below it are read.
//
// An author writes the settings, the observation and the kind with its markers, and doc.go with those of the package: see
// examples/notes/apis for a whole API.
//
// # Generated files
//
//	apis/G/V/zz_generated.types.go      KSpec, KStatus, KList, KInitParameters; KClass, KClassSpecTemplate, KClassList
//	apis/G/V/zz_generated.register.go   Group (unless a kind is named Group), GroupVersion, KKind, KKindAPIVersion,
//	                                    KGroupVersionKind, AddToScheme
//	apis/G/V/zz_generated.accessors.go  the methods of the kind's role; Parameters, Observation, InitParameters, GetItems
//	apis/G/V/zz_generated.rules.go      (*KParameters).FieldRules
//	apis/G/V/zz_generated.resolvers.go  (*K).ResolveReferences, if there are references
//	apis/G/V/zz_generated.deepcopy.go   deepcopy functions
//	apis/namespaced/G/V/                the same for the second scope, with settings and observation of the first
//	apis/zz_generated.register.go       AddToScheme of all packages
//	apis/crds/                          one definition per kind, and the package that embeds them
//	apis/crds/protection.yaml           the admission policy that protects objects and definitions from deletion (N39)
//
// A kind is a managed resource if its spec embeds xpv1.ResourceSpec or xpv1.NamespacedResourceSpec, or is generated; it is a
// provider configuration if its spec embeds xpv1.ProviderSpec, a claim if that embeds xpv1.ResourceClaimSpec, a target if that
// embeds xpv1.TargetSpec, and a class if its specTemplate embeds xpv1.ClassSpecTemplate (T12). A ProviderConfig of both scopes
// becomes ProviderConfig, and in the second package ProviderConfig and ClusterProviderConfig. Markers of kubebuilder override the
// scope, categories, columns, status subresource and label of a definition (N29).
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
//	+bowline:compare=W;W                set, ignoreCase, json, ignore, writeOnly, extra, chosen: see parameters.Rules;
//	                                    chosen is for unset fields that others change, which must not be late-initialized
//	+bowline:default=JSON               the value that an empty value of the external system stands for, unless the user sets
//	                                    the empty value or the observed field is a pointer; not in lists
//	+bowline:sensitive                  the value is never shown
//	+bowline:labels                     this map[string]string contains the labels of the external resource
//	+bowline:generated=KEY              without this reference to a Secret, a random value is generated and published as KEY of
//	                                    the connection secret; not in lists; the comment must mention the random value
//	+crossplane:generate:reference:type=Kind, or import/path.Kind; in the second scope it is that scope's kind
//	+crossplane:generate:reference:extractor=import/path.Function(), refFieldName=…, selectorFieldName=…
//	+bowline:nolint=RULE reason         disables a rule of package lint here
//
// Settings of a claim may only have +optional, +bowline:nolint and, outside of lists and maps, +immutable.
//
// A field with a reference has two fields beside it: NetworkIDRef *xpv1.Reference and NetworkIDSelector *xpv1.Selector for
// NetworkID, SubnetIDRefs []xpv1.Reference and SubnetIDSelector for SubnetIDs; xpv1.NamespacedReference and
// xpv1.NamespacedSelector for references to other namespaces.
package codegen
