// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

func TestTokenIsRenewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	synctest.Test(t, func(t *testing.T) {
		var (
			asked  int
			refuse atomic.Bool
		)
		file := &tokenFile{path: path, log: slog.New(slog.DiscardHandler), request: func(context.Context) (string, time.Time, error) {
			if refuse.Load() {
				return "", time.Time{}, errors.New("no")
			}
			asked++
			return strconv.Itoa(asked), time.Now().Add(tokenLife), nil
		}}
		if err := file.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- file.keepFresh(ctx) }()

		steps := []struct {
			wait   time.Duration
			refuse bool
			want   string
		}{
			{tokenLife/2 - time.Minute, false, "1"},
			{time.Minute + time.Second, false, "2"},
			{tokenLife / 2, true, "2"}, // refused; the old one has half of its life left
			{time.Minute, false, "3"},
		}
		for _, step := range steps {
			refuse.Store(step.refuse)
			<-time.After(step.wait) // on the bubble's clock
			synctest.Wait()
			if got, err := os.ReadFile(path); err != nil || string(got) != step.want {
				t.Errorf("after %s: want token %s, got %s, %v", step.wait, step.want, got, err)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v, %v", info, err)
	}
}

func TestTokenConfigLeavesTheAdministratorOut(t *testing.T) {
	admin := &rest.Config{
		Host: "https://localhost:1", BearerToken: "secret", Username: "admin", Password: "secret",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")},
	}
	got := (&tokenFile{path: "/token"}).config(admin)
	if got.BearerToken != "" || got.Username != "" || got.Password != "" || got.CertData != nil || got.KeyData != nil {
		t.Errorf("the administrator's identity is passed on: %s", got)
	}
	if got.Host != admin.Host || string(got.CAData) != "ca" || got.BearerTokenFile != "/token" || got.Insecure {
		t.Errorf("the address or authority of the server is lost: %s", got)
	}
}
