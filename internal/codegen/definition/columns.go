// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

type column = apiextensionsv1.CustomResourceColumnDefinition

// columns returns the columns of kubectl get (T22): the default ones around those of the author. If the author defines one of the
// default columns, there are only those of the author.
func columns(role model.Role, own []column) []column {
	before, after := defaultColumns(role)
	for _, d := range slices.Concat(before, after) {
		if slices.ContainsFunc(own, func(c column) bool { return strings.EqualFold(c.Name, d.Name) }) {
			return own
		}
	}
	return slices.Concat(before, own, after)
}

// defaultColumns returns the columns of a role that precede those of the author, and those that follow them.
func defaultColumns(role model.Role) (before, after []column) {
	ready := column{Name: "READY", Type: "string", JSONPath: ".status.conditions[?(@.type=='Ready')].status"}
	age := column{Name: "AGE", Type: "date", JSONPath: ".metadata.creationTimestamp"}
	switch role {
	case model.ProviderConfig:
		return nil, []column{
			{Name: "USERS", Type: "integer", JSONPath: ".status.users"},
			{Name: "SECRET", Type: "string", Priority: 1, JSONPath: ".spec.credentials.secretRef.name"}, age,
		}
	case model.Claim:
		return []column{
			{Name: "PHASE", Type: "string", JSONPath: ".status.bindingPhase"},
			{Name: "CLASS", Type: "string", JSONPath: ".spec.classRef.name"},
			{Name: "RESOURCE", Type: "string", JSONPath: ".spec.resourceRef.name"}, ready,
		}, []column{age}
	case model.Class:
		return []column{
			{Name: "PROVIDER-CONFIG", Type: "string", JSONPath: ".specTemplate.providerConfigRef.name"},
			{Name: "RECLAIM-POLICY", Type: "string", JSONPath: ".specTemplate.reclaimPolicy"},
			{Name: "MAX", Type: "integer", JSONPath: ".specTemplate.claims.max"},
			{Name: "DEFAULT", Type: "string", JSONPath: `.metadata.annotations.resourceclass\.crossplane\.io/is-default-class`},
		}, []column{age}
	case model.Target:
		return []column{
			{Name: "RESOURCE", Type: "string", JSONPath: ".spec.clusterRef.name"},
			{Name: "SECRET", Type: "string", JSONPath: ".spec.connectionSecretRef.name"}, ready,
		}, []column{age}
	}
	return []column{
		ready,
		{Name: "SYNCED", Type: "string", JSONPath: ".status.conditions[?(@.type=='Synced')].status"},
		{Name: "EXTERNAL-NAME", Type: "string", JSONPath: `.metadata.annotations.crossplane\.io/external-name`},
	}, []column{age}
}
