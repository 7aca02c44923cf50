// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
)

const (
	patience = time.Minute            // how long an operation may take, and how long its recovery
	quiet    = 500 * time.Millisecond // without a request: the controllers are idle
)

// An attempt is one run of an operation, in a namespace of its own of both API servers.
type attempt struct {
	config    *rest.Config
	client    client.Client
	remote    client.Client
	namespace string
}

// begin prepares a namespace with a Secret, and two targets for the cluster.
func (h *harness) begin(ctx context.Context) (*attempt, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), core.Provider().AddToScheme(scheme)); err != nil {
		return nil, err
	}
	t := &attempt{config: h.config}
	var err, remoteErr error
	t.client, err = client.New(h.config, client.Options{Scheme: scheme})
	t.remote, remoteErr = client.New(h.cluster, client.Options{Scheme: scheme})
	if err := errors.Join(err, remoteErr); err != nil {
		return nil, err
	}
	here := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}}
	if err := t.client.Create(ctx, here); err != nil {
		return nil, err
	}
	t.namespace = here.Name
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: here.Name}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: here.Name, Name: "db"}, StringData: map[string]string{"password": "x"}}
	return t, errors.Join(t.remote.Create(ctx, there), t.client.Create(ctx, secret), t.connect(ctx, h.cluster, "one"), t.connect(ctx, h.cluster, "two"))
}

// connect creates a target that is ready, with its Secret.
func (t *attempt) connect(ctx context.Context, to *rest.Config, name string) error {
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name}}
	target.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: "example.org/v1", Kind: "Cluster", Name: "c"}
	target.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	if err := t.client.Create(ctx, target); err != nil {
		return err
	}
	target.SetConditions(xpv1.Available())
	access := clientcmdapi.NewConfig()
	access.Clusters["c"] = &clientcmdapi.Cluster{Server: to.Host, CertificateAuthorityData: to.CAData}
	access.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: to.BearerToken, ClientCertificateData: to.CertData, ClientKeyData: to.KeyData}
	access.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: t.namespace}
	access.CurrentContext = "x"
	kubeconfig, err := clientcmd.Write(*access)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name,
		OwnerReferences: []metav1.OwnerReference{meta.AsController(target, workloadv1alpha1.KubernetesTargetGroupVersionKind)}},
		Type: xpv1.SecretTypeConnection, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	return errors.Join(err, t.client.Status().Update(ctx, target), t.client.Create(ctx, secret))
}

// run runs the operation in the process and, if that crashes or freezes, finishes it in another one. why is what is wrong then; an error is a
// failure of this program.
func (t *attempt) run(ctx context.Context, o operation, process *fault.Process) (why, err error) {
	if o.given != nil {
		if err := t.declare(ctx, o.given...); err != nil {
			return nil, err
		}
		if _, why, err := t.with(ctx, &fault.Process{}, o.given); why != nil || err != nil {
			return nil, fmt.Errorf("preparing: %w", errors.Join(why, err))
		}
	}
	if err := o.when(t, ctx); err != nil {
		return nil, err
	}
	wake, why, err := t.with(ctx, process, o.then)
	if err == nil && why == nil && process.Kind != "" {
		_, why, err = t.with(ctx, &fault.Process{}, o.then)
	}
	if wake != nil {
		if err := errors.Join(err, wake()); err != nil || why != nil {
			return why, err
		}
		_, why, err = t.with(ctx, &fault.Process{}, o.then)
	}
	return why, err
}

// with runs a process until it has crashed, or is idle when the cluster has what is wanted. A frozen one runs on until wake is called.
func (t *attempt) with(ctx context.Context, process *fault.Process, want []template) (wake func() error, why, err error) {
	stop, err := t.start(ctx, process)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	why = testkit.Poll(limited, func() error {
		if process.Finished() {
			return nil
		}
		if !process.Silent(quiet) {
			return errors.New("the controllers are not idle: " + process.String())
		}
		return t.check(limited, want)
	})
	if process.Frozen() {
		return func() error {
			process.Wake()
			return errors.Join(testkit.Poll(ctx, func() error { return process.Quiet(quiet) }), stop())
		}, why, nil
	}
	return nil, why, stop()
}

// start starts controllers without memory for the namespace, whose requests to both API servers are those of the process.
func (t *attempt) start(ctx context.Context, process *fault.Process) (stop func() error, err error) {
	tap := func(next http.RoundTripper) http.RoundTripper {
		return fault.Transport(func() *fault.Process { return process }, fault.APIRequest, next)
	}
	tapped := rest.CopyConfig(t.config)
	tapped.Wrap(tap)
	mgr, err := ctrl.NewManager(tapped, ctrl.Options{
		Scheme:         t.client.Scheme(),
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return t.client.RESTMapper(), nil },
		Logger:         logr.Discard(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{t.namespace: {}}},
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, err
	}
	secrets, err := credentials.NewSecrets(mgr)
	if err != nil {
		return nil, err
	}
	objects := applicationresource.NewReconciler(mgr, secrets, applicationresource.WithFence(process.Lease),
		applicationresource.WithHooks(func(h *clusters.Hooks) { h.Wrap = tap }))
	if err := errors.Join(application.NewReconciler(mgr, secrets).SetupWithManager(mgr), objects.SetupWithManager(mgr)); err != nil {
		return nil, err
	}
	return testkit.Background(ctx, mgr.Start, func(ctx context.Context) error {
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches of a process do not sync")
		}
		process.Begin()
		return nil
	})
}

// end removes the namespaces, whatever is in them.
func (t *attempt) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	resources := &workloadv1alpha1.KubernetesApplicationResourceList{}
	err := t.client.List(ctx, resources, client.InNamespace(t.namespace))
	for i := range resources.Items {
		err = errors.Join(err, testkit.Remove(ctx, t.client, &resources.Items[i]))
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	return errors.Join(err, testkit.Remove(ctx, t.client, t.application()), t.client.Delete(ctx, namespace),
		t.remote.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}))
}
