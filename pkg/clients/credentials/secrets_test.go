// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func newSecrets(t *testing.T, env *controlplanetest.Env, o ...credentials.Option) (secrets *credentials.Secrets) {
	t.Helper()
	controlplanetest.RunManager(t, env.Config, manager.Options{}, func(mgr manager.Manager) (err error) {
		secrets, err = credentials.NewSecrets(mgr, o...)
		return err
	})
	return secrets
}

// Extract and OnChange follow a Secret from its creation to its deletion (R231, R232).
func TestExtract(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	secrets := newSecrets(t, env)
	var changes atomic.Int32
	secrets.OnChange(func(key types.NamespacedName) {
		if key.Name == "api" {
			changes.Add(1)
		}
	})
	from := xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: env.Namespace, Name: "api", Key: "key"},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "api"}}
	set := func(key, value string) func(context.Context) error {
		return func(ctx context.Context) error {
			secret.Data = map[string][]byte{key: []byte(value)}
			return env.Client.Update(ctx, secret)
		}
	}
	for i, moment := range []struct {
		name, value, fails string
		act                func(context.Context) error
	}{
		{name: "missing", fails: "not found", act: func(context.Context) error { return nil }},
		{name: "another key", fails: `has no key "key"`, act: func(ctx context.Context) error {
			secret.Data = map[string][]byte{"other": []byte("value")}
			return env.Client.Create(ctx, secret)
		}},
		{name: "there", value: "first", act: set("key", "first")},
		{name: "rotated", value: "second", act: set("key", "second")},
		{name: "deleted", fails: "not found", act: func(ctx context.Context) error { return env.Client.Delete(ctx, secret) }},
	} {
		if err := moment.act(t.Context()); err != nil {
			t.Fatal(err)
		}
		env.Eventually(t, moment.name, func(ctx context.Context) error {
			got, err := secrets.Extract(ctx, env.Namespace, from)
			if moment.fails != "" && err != nil && strings.Contains(err.Error(), moment.fails) {
				return nil
			}
			if string(got.Value) != moment.value || moment.fails != "" {
				return fmt.Errorf("credentials %q, error %v", got.Value, err)
			}
			return err
		})
		env.Eventually(t, "OnChange reports it", func(context.Context) error {
			if seen := int(changes.Load()); seen < i {
				return fmt.Errorf("%d changes of %d", seen, i)
			}
			return nil
		})
	}
}
