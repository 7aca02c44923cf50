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
	tokenLife = time.Hour
	// tokenCheck is how often the token's age is looked at. A timer until its renewal would stand still while the machine
	// sleeps, and the token would be found expired on waking up.
	tokenCheck = time.Minute
)

// A tokenFile keeps a fresh token in a file that only this user can read. The client library reads the file again every
// minute.
type tokenFile struct {
	path    string
	request func(context.Context) (token string, expires time.Time, err error)
	log     *slog.Logger
	renewAt time.Time
}

// controllersToken keeps a token of the controllers' service account in the data folder.
func controllersToken(dataDir string, c kubernetes.Interface, log *slog.Logger) *tokenFile {
	return &tokenFile{
		path: filepath.Join(dataDir, "controllers.token"),
		log:  log,
		request: func(ctx context.Context) (string, time.Time, error) {
			seconds := int64(tokenLife.Seconds())
			request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
			answer, err := c.CoreV1().ServiceAccounts(systemNamespace).
				CreateToken(ctx, controllersAccount, request, metav1.CreateOptions{})
			if err != nil {
				return "", time.Time{}, err
			}
			return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
		},
	}
}

// refresh writes a new token. It is to be renewed after half of its life.
func (t *tokenFile) refresh(ctx context.Context) error {
	token, expires, err := t.request(ctx)
	if err != nil {
		return fmt.Errorf("requesting the controllers' token: %w", err)
	}
	if err := writeFile(t.path, []byte(token)); err != nil {
		return err
	}
	t.renewAt = expires.Add(-time.Until(expires) / 2)
	return nil
}

// keepFresh renews the token whenever it is due, until ctx ends.
func (t *tokenFile) keepFresh(ctx context.Context) error {
	ticker := time.NewTicker(tokenCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// Round drops the monotonic clock, which stands still in a sleep too.
		if time.Now().Round(0).Before(t.renewAt) {
			continue
		}
		if err := t.refresh(ctx); err != nil {
			t.log.Warn("Cannot renew the controllers' token, trying again", "in", tokenCheck, "error", err)
		}
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
