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
// Package github.com/bowline-dev/bowline/pkg/markers lists the markers.
package codegen
