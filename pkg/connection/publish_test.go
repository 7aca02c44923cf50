// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
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
