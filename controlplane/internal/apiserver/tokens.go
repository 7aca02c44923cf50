// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// tokenGetter reads the objects that a service account token is bound to; there are no pods and nodes. It reads from the server what
// the cache lacks, so that a token works as soon as it is issued.
type tokenGetter struct {
	secrets  corelisters.SecretLister
	accounts corelisters.ServiceAccountLister
	live     kubernetes.Interface // set before the server serves
}

// attach is called by the authentication options once the informers exist.
func (g *tokenGetter) attach(f informers.SharedInformerFactory) serviceaccount.ServiceAccountTokenGetter {
	g.secrets, g.accounts = f.Core().V1().Secrets().Lister(), f.Core().V1().ServiceAccounts().Lister()
	return g
}

func (g *tokenGetter) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if account, err := g.accounts.ServiceAccounts(namespace).Get(name); err == nil {
		return account, nil
	}
	return g.live.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (g *tokenGetter) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	if secret, err := g.secrets.Secrets(namespace).Get(name); err == nil {
		return secret, nil
	}
	return g.live.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (*tokenGetter) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (*tokenGetter) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}
