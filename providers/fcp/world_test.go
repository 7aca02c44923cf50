// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"os"
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
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

func TestMain(m *testing.M) {
	crds, err := fcp.Provider().Definitions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, crds...))
}

const project = "demo"

// testLabel marks the cluster-scoped objects that a world's controllers look after, by the world's namespace.
const testLabel = "bowline.dev/test"

// A world is a favourite cloud, a namespace of the shared API server and the provider's controllers between the two.
type world struct {
	*controlplanetest.Env
	endpoint string
	cloud    *sdk.Client
	networks *network.Client
	subnets  *subnet.Client
	groups   *nodegroup.Client
	admin    *sdk.AdminClient
}

// newWorld has a configuration for each scope, named as the world's namespace. Without options controllers look often.
func newWorld(t *testing.T, o ...managed.ReconcilerOption) *world {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := fcp.Provider().AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	w := &world{Env: controlplanetest.NewWithScheme(t, s)}
	key := w.startCloud(t)
	w.startControllers(t, o) // before the configurations are made: they are gone before the controllers stop
	spec := v1alpha3.ProviderConfigSpec{ProjectID: project, Endpoint: w.endpoint}
	spec.Credentials = xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: "key", Key: "key"},
	}
	w.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "key"}, StringData: map[string]string{"key": key}})
	w.create(t, &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: spec})
	w.create(t, &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: spec})
	return w
}

// startCloud returns an API key of the project.
func (w *world) startCloud(t *testing.T) string {
	t.Helper()
	settings := favouritecloud.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour, CloudAdmin: true}
	server, err := favouritecloud.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	controlplanetest.Run(t, server.Run)
	select {
	case <-server.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("the cloud does not start")
	}
	w.endpoint = server.URL()
	token, err := favouritecloud.ReadAdminToken(settings.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if w.admin, err = sdk.NewAdminClient(w.endpoint, token); err != nil {
		t.Fatal(err)
	}
	key, err := sdk.CreateKey(t.Context(), w.endpoint, token, project)
	if err != nil {
		t.Fatal(err)
	}
	c, err := sdk.NewClient(sdk.Config{Endpoint: w.endpoint, Project: project, APIKey: key.Key})
	if err != nil {
		t.Fatal(err)
	}
	w.cloud = c
	w.networks, w.subnets, w.groups = network.NewClient(c), subnet.NewClient(c), nodegroup.NewClient(c)
	return key.Key
}

// startControllers has them look at this world only.
func (w *world) startControllers(t *testing.T, o []managed.ReconcilerOption) {
	t.Helper()
	options := managed.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.Namespace: {}}
	mine := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{testLabel: w.Namespace})}
	options.ByObject[&databasev1alpha3.FavouriteDBInstance{}] = mine
	options.ByObject[&cachev1alpha3.CacheInstance{}] = mine
	options.ByObject[&networkv1alpha3.Network{}] = mine
	fast := []managed.ReconcilerOption{managed.WithPollInterval(time.Second), managed.WithBackoff(100*time.Millisecond, time.Second)}
	controlplanetest.RunManager(t, w.Config, ctrl.Options{Scheme: w.Scheme, Cache: options}, func(mgr ctrl.Manager) error {
		return fcp.Provider().SetupWithManager(mgr, append(fast, o...)...)
	})
}

// create creates an object, in the world's namespace if it has none and needs one.
func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	namespaced, err := w.Client.IsObjectNamespaced(o)
	if err != nil {
		t.Fatal(err)
	}
	if namespaced && o.GetNamespace() == "" {
		o.SetNamespace(w.Namespace)
	}
	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.remove(t, o) })
}

// remove deletes an object and waits until it is gone, so that nothing holds up the namespace.
func (w *world) remove(t *testing.T, o client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		err := w.Client.Delete(ctx, o)
		if client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
			return
		}
		if err != nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Errorf("%T %s is not gone", o, o.GetName())
			return
		}
	}
}

// settled waits until the object was reconciled in its present form and is Ready.
func (w *world) settled(t *testing.T, mg resource.Managed) {
	t.Helper()
	w.Eventually(t, mg.GetName()+" is Ready", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
		if ready.Status != corev1.ConditionTrue || synced.Status != corev1.ConditionTrue || synced.ObservedGeneration != mg.GetGeneration() {
			return fmt.Errorf("generation %d; Ready: %s %s; Synced for generation %d: %s %s", mg.GetGeneration(), ready.Reason, ready.Message,
				synced.ObservedGeneration, synced.Reason, synced.Message)
		}
		return nil
	})
}

// change edits the object's latest state and waits until the change is reconciled.
func (w *world) change(t *testing.T, mg resource.Managed, edit func()) {
	t.Helper()
	before := mg.DeepCopyObject().(client.Object)
	edit()
	if err := w.Client.Patch(t.Context(), mg, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.settled(t, mg)
}
