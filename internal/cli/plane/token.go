// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

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

	"github.com/bowline-dev/bowline/internal/cli/datadir"
)

const (
	tokenLife = time.Hour
	// tokenCheck is the interval of checking the token's age. A single timer until the renewal would stop while the machine
	// sleeps, and the token would have expired at wake-up.
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
			answer, err := c.CoreV1().ServiceAccounts(SystemNamespace).
				CreateToken(ctx, ControllersAccount, request, metav1.CreateOptions{})
			if err != nil {
				return "", time.Time{}, err
			}
			return answer.Status.Token, answer.Status.ExpirationTimestamp.Time, nil
		},
	}
}

// refresh writes a new token, to be renewed after half of its life.
func (t *tokenFile) refresh(ctx context.Context) error {
	token, expires, err := t.request(ctx)
	if err != nil {
		return fmt.Errorf("requesting the controllers' token: %w", err)
	}
	if err := datadir.WriteFile(t.path, []byte(token)); err != nil {
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
		// Round drops the monotonic clock, which stops while the machine sleeps.
		if time.Now().Round(0).Before(t.renewAt) {
			continue
		}
		if err := t.refresh(ctx); err != nil {
			t.log.Warn("Cannot renew the controllers' token; retrying", "in", tokenCheck, "error", err)
		}
	}
}

// config returns the controllers' access to the administrator's server: the same certificate authority, and the token instead of
// the administrator's certificate.
func (t *tokenFile) config(admin *rest.Config) *rest.Config {
	return &rest.Config{
		Host:            admin.Host,
		BearerTokenFile: t.path,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: admin.CAData, CAFile: admin.CAFile, ServerName: admin.ServerName,
		},
		UserAgent: ControllersAccount,
		QPS:       -1, // the controllers limit their own calls
	}
}
