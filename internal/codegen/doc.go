// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package codegen generates what follows from the types of an API, so that an author writes settings, observation and kind.
//
//	bowline generate ./apis/...           # writes, and prints which files it changed
//	bowline generate --check ./apis/...   # writes nothing, fails if it would
//
//	//go:generate go run github.com/bowline-dev/bowline/cmd/bowline generate .
//
// The one idea: what an author wrote is read as syntax, without what earlier runs wrote, and everything that belongs into
// the folder follows from that alone. So a run may be repeated, and a check is a comparison. What the author declared by
// hand is not written again. An argument names the folder of an API, apis as a rule; all packages below it are read.
//
// # What an author writes
//
//	// apis/network/v1alpha1/doc.go
//	// Package v1alpha1 holds the kinds of the cloud's network service.
//	//
//	// +kubebuilder:object:generate=true
//	// +groupName=network.cloud.example.org
//	// +bowline:system=the cloud
//	package v1alpha1
//
//	// apis/network/v1alpha1/network.go
//	// NetworkParameters are the settings of a network.
//	// https://cloud.example.org/docs/networks
//	type NetworkParameters struct {
//		// CIDRBlock is the range of addresses. It cannot change.
//		// +immutable
//		// +bowline:required
//		// +optional
//		CIDRBlock *string `json:"cidrBlock,omitempty"`
//	}
//
//	// NetworkObservation is what the cloud reports of a network.
//	type NetworkObservation struct { … }
//
//	// A Network is a range of addresses.
//	//
//	// +kubebuilder:object:root=true
//	// +bowline:scopes=Cluster,Namespaced
//	type Network struct {
//		metav1.TypeMeta   `json:",inline"`
//		metav1.ObjectMeta `json:"metadata,omitempty"`
//
//		Spec   NetworkSpec   `json:"spec"`
//		Status NetworkStatus `json:"status,omitempty"`
//	}
//
// # What is written
//
//	apis/G/V/zz_generated.types.go      KSpec, KStatus, KList, KInitParameters; KClass, KClassSpecTemplate, KClassList
//	apis/G/V/zz_generated.register.go   Group (but beside a kind called Group), GroupVersion, KKind, KKindAPIVersion,
//	                                    KGroupVersionKind, AddToScheme
//	apis/G/V/zz_generated.accessors.go  the methods of the kind's role; Parameters, Observation, InitParameters, GetItems
//	apis/G/V/zz_generated.rules.go      (*KParameters).FieldRules
//	apis/G/V/zz_generated.resolvers.go  (*K).ResolveReferences, if there are references
//	apis/G/V/zz_generated.deepcopy.go   deepcopy functions
//	apis/namespaced/G/V/                the same for the second scope, with settings and observation of the first
//	apis/zz_generated.register.go       AddToScheme of all packages
//	apis/crds/                          one definition per kind, and the package that embeds them
//
// A kind is a managed resource if its spec embeds xpv1.ResourceSpec or xpv1.NamespacedResourceSpec, or is still to be
// written; it is a provider configuration if its spec embeds xpv1.ProviderSpec, a claim if that embeds
// xpv1.ResourceClaimSpec, a target if that embeds xpv1.TargetSpec, and a class if its specTemplate embeds
// xpv1.ClassSpecTemplate (T12). A ProviderConfig of both scopes becomes ProviderConfig, and in the second package ProviderConfig
// and ClusterProviderConfig. The definitions get scope, categories, columns, the status subresource and the label of N29 where
// markers of kubebuilder say nothing else.
//
// # Markers of a package, in doc.go
//
//	+bowline:generate                   opt in: some marker of ours has to be in the package, this one says nothing else
//	+bowline:system=the cloud           what descriptions call the external system; default: the external system
//	+bowline:provider=cloud             category of the kinds; default: first label of the group of the ProviderConfig
//	+bowline:namespacedGroup=G          group of the second scope; default: .m before the last two labels
//	+bowline:providerConfigGroup=G      group of the ProviderConfig; default: the longest that the package's group ends with
//
// # Markers of a kind
//
//	+bowline:scopes=Cluster,Namespaced  one or both
//	+bowline:providerconfig             a provider configuration, where the spec does not say so
//	+bowline:class=Kind.group,…         the cluster-scoped managed kind K has a class, KClass, which satisfies these claim
//	                                    kinds: controllers find it by them, the first of which is a label of its definition.
//	                                    It takes the same settings, without what is immutable being so (R277)
//	+bowline:claims=Kind.group,…        the same, on a class that is written by hand
//
// # Markers of a field of the settings
//
//	+optional                           as everywhere; the field is a pointer, list or map with omitempty
//	+immutable                          can be set once; enforced by the API server, which has to compare it, so that texts have
//	                                    at most 1024 characters and lists and maps 64 items, in initProvider too, where it
//	                                    stays as well unless forProvider sets it or it is in a list; validation markers of
//	                                    the field say otherwise; a claim's own setting can be changed until the claim
//	                                    has its managed resource
//	+bowline:required                   demanded in forProvider or initProvider, by value, reference or selector, unless
//	                                    managementPolicies exclude Create and Update; in the only item of a list with
//	                                    MaxItems=1, too; in an optional struct only where that is given
//	+bowline:compare=W;W                set, ignoreCase, json, ignore, writeOnly, extra, chosen: see parameters.Rules;
//	                                    chosen is for what others change where the user left it open, so that it must not be
//	                                    taken over
//	+bowline:default=JSON               what the vendor means where it answers with nothing, 0, false or an empty value, unless
//	                                    the user asks for that or the vendor's field is a pointer; not in lists
//	+bowline:sensitive                  the value is never shown
//	+bowline:labels                     this map[string]string holds the vendor's labels
//	+bowline:generated=KEY              without this reference to a Secret a value is made, shown under the connection
//	                                    secret's KEY; not in lists; the comment says that the value is random
//	+crossplane:generate:reference:type=Kind, or import/path.Kind; in the second scope it is that scope's kind
//	+crossplane:generate:reference:extractor=import/path.Function(), refFieldName=…, selectorFieldName=…
//	+bowline:nolint=RULE reason         turns a rule of package lint off here
//
// Of these a claim's own settings have +optional, +immutable outside lists and maps, and +bowline:nolint only.
//
// The field that refers has two beside it: NetworkIDRef *xpv1.Reference and NetworkIDSelector *xpv1.Selector for
// NetworkID, SubnetIDRefs []xpv1.Reference and SubnetIDSelector for SubnetIDs; xpv1.NamespacedReference and
// xpv1.NamespacedSelector where another namespace may be named.
//
// Package model reads, lint judges, source writes Go, definition writes custom resource definitions.
package codegen
