// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The controllers send tokens of their own account, which are renewed after half of their life, and nothing of the
// administrator's identity.
func TestControllersAccess(t *testing.T) {
	t.Parallel()
	var requested authenticationv1.TokenRequest
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&requested); err != nil {
			t.Error(err)
		}
		requested.Status = authenticationv1.TokenRequestStatus{Token: "theirs", ExpirationTimestamp: metav1.NewTime(time.Now().Add(tokenLife))}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&requested)
	}))
	defer api.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	sent := http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header }))
	defer server.Close()
	admin := &rest.Config{Host: server.URL, BearerToken: "secret", Username: "admin", Password: "secret",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")}}
	source := tokenSource{client: client}

	cfg := controllersAccess(admin, source)
	if cfg.BearerToken != "" || cfg.Username != "" || cfg.Password != "" || cfg.CertData != nil || cfg.KeyData != nil {
		t.Errorf("the administrator's identity is passed on: %s", cfg)
	}
	if string(cfg.CAData) != "ca" || cfg.Insecure {
		t.Errorf("the server's authority is lost: %s", cfg)
	}
	cfg.CAData = nil // the test's server has no TLS
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.RESTClient().Get().AbsPath("/readyz").Do(context.WithoutCancel(t.Context()))
	if got := sent.Get("Authorization"); got != "Bearer theirs" {
		t.Errorf("the controllers send %q", got)
	}
	if got := *requested.Spec.ExpirationSeconds; got != int64(tokenLife.Seconds()) {
		t.Errorf("the token lives %d seconds", got)
	}
	token, err := source.Token()
	if err != nil || time.Until(token.Expiry) > tokenLife/2 || time.Until(token.Expiry) < tokenLife/2-time.Minute {
		t.Errorf("the token is renewed at %v, %v", token, err)
	}
}
