// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// empty is a cluster without objects that counts what is created.
type empty struct {
	client.Client
	created int
}

func (*empty) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
}

func (e *empty) Create(context.Context, client.Object, ...client.CreateOption) error {
	e.created++
	return nil
}

func TestPublishNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		details     map[string][]byte
		annotations map[string]string
		want        int
	}{
		"nothing creates no Secret (R206, R220)": {},
		"empty details, either (R220)":           {details: map[string][]byte{}, annotations: map[string]string{}},
		"details create one (R206)":              {details: map[string][]byte{"a": []byte("b")}, want: 1},
		"annotations create one (N22)":           {annotations: map[string]string{"a": "b"}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item, cluster := &shop.Item{}, &empty{}
			item.Name, item.Spec.WriteConnectionSecretToReference = "item", &xpv1.SecretReference{Namespace: "vault", Name: "source"}
			p := connection.Publisher{Client: cluster, Live: cluster, Owner: shop.ItemGroupVersionKind}
			secret, err := p.Publish(t.Context(), item, nil, tc.details, tc.annotations)
			if err != nil || cluster.created != tc.want || (secret != nil) != (tc.want > 0) {
				t.Errorf("%d created, returned %v, error %v", cluster.created, secret, err)
			}
		})
	}
}

// The managed resource decides which namespaces have its connection Secret.
func TestAllowed(t *testing.T) {
	t.Parallel()
	const isBound = xpv1.BindingPhaseBound
	for name, tc := range map[string]struct {
		listed    string // in its annotation
		claim     string // namespace of the claim that it names
		uid       types.UID
		phase     xpv1.BindingPhase
		isAllowed bool
	}{
		"no namespace (N27)":                           {},
		"the namespace is listed (N27)":                {listed: "team", isAllowed: true},
		"it is listed among others (N27)":              {listed: "a, team ,b", isAllowed: true},
		"all are (N27)":                                {listed: "*", isAllowed: true},
		"another is listed (N27)":                      {listed: "other"},
		"one whose name begins like it (N27)":          {listed: "team-2"},
		"bound to a claim of the namespace (N27)":      {claim: "team", uid: "u", phase: isBound, isAllowed: true},
		"bound to a claim of another (N27)":            {claim: "other", uid: "u", phase: isBound},
		"bound to another's, listed (N27)":             {listed: "team", claim: "other", uid: "u", phase: isBound, isAllowed: true},
		"meant for a claim of it, and not bound (N27)": {claim: "team", phase: xpv1.BindingPhaseUnbound},
		"being bound (N27)":                            {claim: "team", uid: "u", phase: xpv1.BindingPhaseUnbound},
		"released by a claim of it (N27)":              {claim: "team", uid: "u", phase: xpv1.BindingPhaseReleased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := &shop.Item{}
			item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: tc.listed}
			if tc.claim != "" {
				item.Spec.ClaimReference = &corev1.ObjectReference{Namespace: tc.claim, Name: "c", UID: tc.uid}
			}
			item.SetBindingPhase(tc.phase)
			if got := connection.Allowed(item, "team"); got != tc.isAllowed {
				t.Errorf("got %t", got)
			}
		})
	}
}
