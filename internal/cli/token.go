// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	tokenLife  = time.Hour
	tokenRetry = 10 * time.Second // after a refusal; there is plenty of life left then
)

// A tokenFile keeps a fresh token of the controllers' service account in a file that only this user can read. The client
// library reads the file again every minute.
type tokenFile struct {
	path   string
	client kubernetes.Interface
	log    *slog.Logger
}

func newTokenFile(dataDir string, c kubernetes.Interface, log *slog.Logger) *tokenFile {
	return &tokenFile{path: filepath.Join(dataDir, "controllers.token"), client: c, log: log}
}

// refresh writes a new token and returns when to do it again: after half its life.
func (t *tokenFile) refresh(ctx context.Context) (time.Duration, error) {
	seconds := int64(tokenLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := t.client.CoreV1().ServiceAccounts(systemNamespace).
		CreateToken(ctx, controllersAccount, request, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("requesting the controllers' token: %w", err)
	}
	if err := writeFile(t.path, []byte(answer.Status.Token)); err != nil {
		return 0, err
	}
	return max(time.Until(answer.Status.ExpirationTimestamp.Time)/2, tokenRetry), nil
}

// keepFresh refreshes the token until ctx ends, starting after the given time.
func (t *tokenFile) keepFresh(ctx context.Context, after time.Duration) error {
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		next, err := t.refresh(ctx)
		if err != nil {
			t.log.Warn("Cannot refresh the controllers' token, trying again", "in", tokenRetry, "error", err)
			next = tokenRetry
		}
		timer.Reset(next)
	}
}

// config returns the controllers' access to the server that the administrator's configuration names: TLS with the same
// authority, the token instead of the administrator's certificate.
func (t *tokenFile) config(admin *rest.Config) *rest.Config {
	return &rest.Config{
		Host:            admin.Host,
		BearerTokenFile: t.path,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: admin.CAData, CAFile: admin.CAFile, ServerName: admin.ServerName,
		},
		UserAgent: controllersAccount,
		QPS:       -1, // the embedded server is ours alone, and the controllers limit their own calls
	}
}
