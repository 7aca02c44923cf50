// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worked runs the worked example of the contract against the favourite cloud, without its known defects.
package worked_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/apis"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	fcpv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/worked/database"
)

func TestMain(m *testing.M) {
	ours, errOurs := fcp.Provider().Definitions()
	portable, errPortable := core.Provider().Definitions()
	if err := errors.Join(errOurs, errPortable); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, append(ours, portable...)...))
}

// The example from a claim that selects, and one that gets the default, to their Secrets and their end.
func TestWorkedExample(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apis.AddToScheme, fcp.Provider().AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	env := controlplanetest.NewWithScheme(t, s)
	controlplanetest.RunManager(t, env.Config, ctrl.Options{Scheme: s}, func(mgr ctrl.Manager) error {
		return errors.Join(
			(&FavouriteDBInstanceController{}).SetupWithManager(mgr),
			(&FancySQLInstanceClaimSchedulingController{}).SetupWithManager(mgr),
			(&FancySQLInstanceClaimDefaultingController{}).SetupWithManager(mgr),
			(&FavouriteDBInstanceClaimController{}).SetupWithManager(mgr),
			(&FavouriteDBInstanceSecretController{}).SetupWithManager(mgr),
			(&FavouriteClusterTargetController{}).SetupWithManager(mgr),
		)
	})
	prepare(t, env)
	selecting, silent := claim(env, "selecting"), claim(env, "silent")
	selecting.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"size": "small"}}
	for _, c := range []*databasev1alpha1.FancySQLInstance{selecting, silent} {
		t.Run(c.Name+" (A51, A60, A61, A62, A67, A81, A82, A90, A91, A92, A93, A94, A95)", func(t *testing.T) {
			if err := env.Client.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			env.Eventually(t, c.Name+" has its Secret", func(ctx context.Context) error {
				if err := env.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
					return err
				}
				secret := &corev1.Secret{}
				err := env.Client.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: c.Name}, secret)
				if ready := c.GetCondition(xpv1.TypeReady); err != nil || ready.Status != corev1.ConditionTrue {
					return fmt.Errorf("%s: %s; %w", ready.Reason, ready.Message, err)
				}
				if len(secret.Data["password"]) == 0 || string(secret.Data["username"]) == "" {
					return errors.New("the Secret is not complete")
				}
				return nil
			})
			connect(t, env, c)
			if err := env.Client.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			i := &v1alpha3.FavouriteDBInstance{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.ResourceReference.Name}}
			env.Eventually(t, "its instance is gone", testkit.Gone(env.Client, i))
		})
	}
}

// connect makes a target for what a claim is bound to, which gets what the claim got.
func connect(t *testing.T, env *controlplanetest.Env, c *databasev1alpha1.FancySQLInstance) {
	t.Run("a target of what the claim has (A68, A80, R14, R296, R297, N27)", func(t *testing.T) {
		target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: c.Name}}
		target.Spec.ResourceReference = c.Spec.ResourceReference
		if err := env.Client.Create(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		env.Eventually(t, "the target has the same Secret", func(ctx context.Context) error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(target), target); err != nil {
				return err
			}
			ready, to, of := target.GetCondition(xpv1.TypeReady), &corev1.Secret{}, &corev1.Secret{}
			err := errors.Join(
				env.Client.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: string(target.UID)}, to),
				env.Client.Get(ctx, client.ObjectKeyFromObject(c), of))
			if err != nil || ready.Status != corev1.ConditionTrue || !maps.EqualFunc(to.Data, of.Data, bytes.Equal) {
				return fmt.Errorf("%s: %s; %w", ready.Reason, ready.Message, err)
			}
			return nil
		})
		if err := env.Client.Delete(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		env.Eventually(t, "the target goes with its Secret", func(ctx context.Context) error {
			for key, o := range map[string]client.Object{target.Name: target, string(target.UID): &corev1.Secret{}} {
				if err := env.Client.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: key}, o); client.IgnoreNotFound(err) != nil || err == nil {
					return fmt.Errorf("%T is there: %w", o, err)
				}
			}
			return nil
		})
	})
}

func claim(env *controlplanetest.Env, name string) *databasev1alpha1.FancySQLInstance {
	c := &databasev1alpha1.FancySQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name}}
	c.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	return c
}

// prepare does what a platform team does: credentials, provider and two classes.
func prepare(t *testing.T, env *controlplanetest.Env) {
	t.Helper()
	config := fcpv1alpha3.ProviderConfigSpec{ProjectID: "worked"}
	config.Credentials = xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret, SecretRef: &xpv1.SecretKeySelector{Namespace: env.Namespace, Name: "key", Key: "key"},
	}
	small := v1alpha3.FavouriteDBInstanceClassSpecTemplate{ForProvider: v1alpha3.FavouriteDBInstanceParameters{FancinessLevel: 10}}
	small.WriteConnectionSecretsToNamespace = env.Namespace
	small.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: env.Prefix + "worked"}
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "key"}, Data: map[string][]byte{"key": startCloud(t)}},
		&fcpv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + "worked"}, Spec: config},
		&v1alpha3.FavouriteDBInstanceClass{ObjectMeta: metav1.ObjectMeta{
			Name: env.Prefix + "small", Labels: map[string]string{"size": "small"},
		}, SpecTemplate: small},
		&v1alpha3.FavouriteDBInstanceClass{ObjectMeta: metav1.ObjectMeta{
			Name: env.Prefix + "default", Annotations: map[string]string{"resourceclass.crossplane.io/is-default-class": "true"},
		}, SpecTemplate: small},
	} {
		if err := env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// startCloud returns what database.NewClient takes for credentials.
func startCloud(t *testing.T) []byte {
	t.Helper()
	cloud, err := inspect.StartCloud(favouritecloud.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Stop(); err != nil {
			t.Error(err)
		}
	})
	key, err := cloud.NewKey(t.Context(), "worked")
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := json.Marshal(database.Credentials{Endpoint: cloud.URL(), Project: "worked", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return credentials
}
