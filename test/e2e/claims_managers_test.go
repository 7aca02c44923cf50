// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	coreprovider "github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
	claimcontroller "github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/fcp"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/providers/sql"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/test/plane"
)

// Scenario 11 with nothing in common but the API server: the two providers run in managers of their own, as in processes of
// their own. The cloud is the plane's.
func twoManagers(t *testing.T, m *market) {
	scheme := runtime.NewScheme()
	err := clientgoscheme.AddToScheme(scheme)
	for _, p := range []provider.Provider{coreprovider.Provider(), fcp.Provider(), sql.Provider()} {
		err = errors.Join(err, p.AddToScheme(scheme))
		definitions, wrong := p.Definitions()
		err = errors.Join(err, wrong, controlplanetest.Install(t.Context(), controlplanetest.Config(t), definitions...))
	}
	if err != nil {
		t.Fatal(err)
	}
	env := controlplanetest.NewWithScheme(t, scheme)
	manage(t, env, coreprovider.Provider(), fcp.Provider())
	manage(t, env, sql.Provider())
	labels := map[string]string{"for": env.Namespace}
	own := plane.FavouriteClass(env.Prefix+"own", env.Namespace, labels)
	own.SetProviderConfigReference(&xpv1.ProviderConfigReference{Name: env.Namespace})
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "key"}}
	key.StringData = map[string]string{"key": m.NewKey(t, plane.Project)}
	for _, o := range []client.Object{
		key, &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: env.Namespace}, Spec: keyOf(m, env.Namespace)},
		plane.TenantClass(env.Prefix+"another", env.Namespace, labels), own,
	} {
		keep(t, env, o)
	}
	for i := range 3 {
		c := postgres(env.Namespace, fmt.Sprintf("db-%d", i), labels)
		keep(t, env, c)
		env.Eventually(t, c.Name+" is bound", func(ctx context.Context) error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
				return err
			}
			if ready := c.GetCondition(xpv1.TypeReady); ready.Status != corev1.ConditionTrue {
				return fmt.Errorf("class %v; Ready: %s %s", c.Spec.ClassReference, ready.Reason, ready.Message)
			}
			return nil
		})
		all, err := madeIn(t.Context(), env.Client, c)
		if err != nil || len(all) != 1 || all[0].GetName() != c.Spec.ResourceReference.Name {
			t.Errorf("managed resources of %s: %d, %v", c.Name, len(all), err)
		}
		if kind := c.Spec.ResourceReference.Kind; kind != databasev1alpha3.FavouriteDBInstanceKind {
			t.Errorf("%s is bound to a %s", c.Name, kind)
		}
	}
}

// manage runs providers in a manager for claims of the environment only: the API server is that of
// other tests too.
func manage(t *testing.T, env *controlplanetest.Env, providers ...provider.Provider) {
	t.Helper()
	ofClaims, err := labels.NewRequirement(claimbinding.LabelClaimUID, selection.Exists, nil)
	if err != nil {
		t.Fatal(err)
	}
	options := managed.CacheOptions()
	claimcontroller.CacheDefinitions(&options)
	options.DefaultNamespaces = map[string]cache.Config{env.Namespace: {}}
	for _, o := range []client.Object{&databasev1alpha3.FavouriteDBInstance{}, &sqlv1alpha1.TenantDatabase{}} {
		options.ByObject[o] = cache.ByObject{Label: labels.NewSelector().Add(*ofClaims)}
	}
	fast := []managed.ReconcilerOption{managed.WithPollInterval(time.Second), managed.WithBackoff(100*time.Millisecond, time.Second)}
	controlplanetest.RunManager(t, env.Config, ctrl.Options{Scheme: env.Scheme, Cache: options}, func(mgr ctrl.Manager) error {
		for _, p := range providers {
			if err := p.SetupWithManager(mgr, fast...); err != nil {
				return err
			}
		}
		return nil
	})
}

// keep creates an object, and removes it while the managers run.
func keep(t *testing.T, env *controlplanetest.Env, o client.Object) {
	t.Helper()
	if err := env.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		for ctx.Err() == nil {
			if err := env.Client.Delete(ctx, o); err != nil {
				if client.IgnoreNotFound(err) != nil {
					t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
				}
				return
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				t.Errorf("%T %s is not deleted", o, o.GetName())
			}
		}
	})
}

// keyOf is how to reach the plane's cloud with the key in a namespace.
func keyOf(m *market, namespace string) v1alpha3.ProviderConfigSpec {
	spec := m.Config("default").Spec
	spec.Credentials.SecretRef = &xpv1.SecretKeySelector{Namespace: namespace, Name: "key", Key: "key"}
	return spec
}
