// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const tokenLife = time.Hour

// A tokenSource requests tokens of the controllers' service account.
type tokenSource struct{ client kubernetes.Interface }

// Token returns a new token. It expires after half of its life for the client, which keeps it if the next request fails.
func (s tokenSource) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))}}
	response, err := s.client.CoreV1().ServiceAccounts(SystemNamespace).CreateToken(ctx, ControllersAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting the controllers' token: %w", err)
	}
	half := time.Until(response.Status.ExpirationTimestamp.Time) / 2
	// Round drops the monotonic clock, which stops while the machine sleeps.
	return &oauth2.Token{AccessToken: response.Status.Token, Expiry: time.Now().Round(0).Add(half)}, nil
}

// controllersAccess returns the controllers' access to the administrator's server: the same certificate authority, and tokens
// instead of the administrator's certificate.
func controllersAccess(admin *rest.Config, tokens oauth2.TokenSource) *rest.Config {
	cfg := &rest.Config{
		Host:            admin.Host,
		TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData, CAFile: admin.CAFile, ServerName: admin.ServerName},
		UserAgent:       ControllersAccount,
		QPS:             -1, // the controllers limit their own calls
	}
	cfg.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedTokenSource(tokens)))
	return cfg
}
