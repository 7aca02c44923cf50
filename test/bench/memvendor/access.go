// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package memvendor

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

// Access returns what a platform team creates: a ProviderConfig, and the Secret with its credentials. The bench deletes more items at once
// than people do by intent, so it has no limit of deletions.
func Access(namespace string) []client.Object {
	config := &shop.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	config.Spec.Credentials = xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret, SecretRef: &xpv1.SecretKeySelector{Namespace: namespace, Name: "credentials", Key: "key"},
	}
	config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))}
	return []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "credentials"}, Data: map[string][]byte{"key": []byte(APIKey)}},
		config,
	}
}
