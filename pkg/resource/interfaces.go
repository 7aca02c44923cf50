// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A Conditioned object has conditions.
type Conditioned interface {
	SetConditions(c ...xpv1.Condition)
	GetCondition(ct xpv1.ConditionType) xpv1.Condition
}

// A Managed object represents one external resource. What else a kind may offer is a role interface of this package,
// found by assertion, so that a kind without that role is a managed resource too.
type Managed interface {
	client.Object
	Conditioned
}

// A ConnectionSecretWriterTo can have its connection details published to a Secret that it names.
type ConnectionSecretWriterTo interface {
	SetWriteConnectionSecretToReference(r *xpv1.SecretReference)
	GetWriteConnectionSecretToReference() *xpv1.SecretReference
}

// A ProviderConfigReferencer names the ProviderConfig that it uses.
type ProviderConfigReferencer interface {
	SetProviderConfigReference(p *xpv1.ProviderConfigReference)
	GetProviderConfigReference() *xpv1.ProviderConfigReference
}

// An Orphanable object says what becomes of its external resource when it is deleted.
type Orphanable interface {
	SetDeletionPolicy(p xpv1.DeletionPolicy)
	GetDeletionPolicy() xpv1.DeletionPolicy
}
