// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

func TestMain(m *testing.M) {
	crds, err := sql.Provider().Definitions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, crds...))
}

// testLabel marks the cluster-scoped objects that a world's controllers look after, by the world's namespace.
const testLabel = "bowline.dev/test"

// A world is a PostgreSQL server, a namespace of the shared API server and the provider's controllers between the two.
// ProviderConfig "default" of the namespace leads to the server, and so does the cluster-scoped one called like the
// namespace.
type world struct {
	*controlplanetest.Env
	postgres *postgresqltest.Server
	server   *postgresql.Server
}

// Controllers look every second unless options say otherwise.
func newWorld(t *testing.T, o ...managed.ReconcilerOption) *world {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := sql.Provider().AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	w := &world{Env: controlplanetest.NewWithScheme(t, s)}
	w.startServer(t)
	w.startControllers(t, o)
	w.create(t, w.login("server", w.postgres.Config()))
	own := &namespacedv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	own.Spec.Credentials = w.credentials("server")
	w.create(t, own)
	clusters := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	clusters.Spec.Credentials = w.credentials("server")
	w.create(t, clusters)
	return w
}

// login is a Secret as the connection secret of a server has it.
func (w *world) login(name string, c postgresql.Config) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}, StringData: map[string]string{
		xpv1.ResourceCredentialsSecretEndpointKey: c.Endpoint,
		xpv1.ResourceCredentialsSecretPortKey:     strconv.Itoa(c.Port),
		xpv1.ResourceCredentialsSecretUserKey:     c.Username,
		xpv1.ResourceCredentialsSecretPasswordKey: string(c.Password),
	}}
}

// credentials are those of a connection secret in the world's namespace.
func (w *world) credentials(secret string) xpv1.ProviderCredentials {
	return xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{
			Namespace: w.Namespace, Name: secret, Key: xpv1.ResourceCredentialsSecretPasswordKey,
		},
	}
}

// startServer has the server log every statement, so that tests can see what reaches it.
func (w *world) startServer(t *testing.T) {
	t.Helper()
	var err error
	if w.postgres, err = postgresqltest.Start("log_statement=all", "max_connections=40"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.postgres.Stop(); err != nil {
			t.Error(err)
		}
	})
	if w.server, err = postgresql.New(w.postgres.Config()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
}

// startControllers has them look at this world's namespace only.
func (w *world) startControllers(t *testing.T, o []managed.ReconcilerOption) {
	t.Helper()
	options := managed.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.Namespace: {}}
	mine := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{testLabel: w.Namespace})}
	for _, o := range []client.Object{
		&v1alpha1.Database{}, &v1alpha1.Role{}, &v1alpha1.Schema{}, &v1alpha1.Extension{}, &v1alpha1.Grant{}, &v1alpha1.TenantDatabase{},
	} {
		options.ByObject[o] = mine
	}
	fast := []managed.ReconcilerOption{managed.WithPollInterval(time.Second), managed.WithBackoff(100*time.Millisecond, time.Second)}
	controlplanetest.RunManager(t, w.Config, ctrl.Options{Scheme: w.Scheme, Cache: options}, func(mgr ctrl.Manager) error {
		return sql.Provider().SetupWithManager(mgr, append(fast, o...)...)
	})
}

// create creates an object that uses the world's server, in the world's namespace if it has one, and removes it at the end
// of the test.
func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	w.place(t, o)
	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for ctx.Err() == nil {
			if err := w.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil || err != nil {
				return
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				t.Errorf("%T %s is not gone", o, o.GetName())
			}
		}
	})
}

// place has an object use the world's server, in the world's namespace if it has one.
func (w *world) place(t *testing.T, o client.Object) {
	t.Helper()
	namespaced, err := w.Client.IsObjectNamespaced(o)
	if err != nil {
		t.Fatal(err)
	}
	config := &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: "default"}
	if namespaced {
		o.SetNamespace(w.Namespace)
	} else {
		o.SetLabels(map[string]string{testLabel: w.Namespace})
		config = &xpv1.ProviderConfigReference{Name: w.Namespace}
	}
	if mg, ok := o.(resource.ProviderConfigReferencer); ok {
		mg.SetProviderConfigReference(config)
	}
}

// ready waits until an object is ready and as declared.
func (w *world) ready(t *testing.T, objects ...resource.Managed) {
	t.Helper()
	for _, o := range objects {
		w.Eventually(t, fmt.Sprintf("%T %s is ready", o, o.GetName()), func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			var not []error
			for _, c := range []xpv1.ConditionType{xpv1.TypeReady, xpv1.TypeSynced} {
				if is := o.GetCondition(c); is.Status != corev1.ConditionTrue {
					not = append(not, fmt.Errorf("%s is %s: %s %s", c, is.Status, is.Reason, is.Message))
				}
			}
			return errors.Join(not...)
		})
	}
}

// secret returns the data of a Secret.
func (w *world) secret(t *testing.T, name string) map[string][]byte {
	t.Helper()
	s := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s.Data
}
