// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
)

// A workloadStage has target "there" for a cluster, which is the API server of the tests itself: the objects of applications are in a
// namespace of their own. The test acts for the controller of targets.
type workloadStage struct {
	*stage
	remote string // the namespace in the cluster

	applications reconcile.Reconciler
	unwatched    bool   // each pass sees the cluster as it is, so that the number of passes does not depend on watches
	close        func() // ends the watches of the present reconciler
	mu           sync.Mutex
	asked        []string // requests to the cluster
	answer       func(*http.Request) error
}

func newWorkloadStage(t *testing.T) *workloadStage {
	t.Helper()
	return workloadStageOn(newStage(t))
}

func workloadStageOn(of *stage) *workloadStage {
	s := &workloadStage{stage: of, remote: of.Prefix + "remote"}
	s.build = s.newReconcilers
	s.restart(s.Config)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.remote}}
	_ = s.Client.Create(s.t.Context(), namespace)
	s.t.Cleanup(func() {
		s.close()
		_ = s.Client.Delete(context.Background(), namespace)
	})
	s.connect("there")
	return s
}

// newReconcilers creates both reconcilers, whose requests to both API servers are of one process.
func (s *workloadStage) newReconcilers(config *rest.Config) reconcile.Reconciler {
	s.t.Helper()
	mgr := s.manager(config)
	s.applications = application.NewReconciler(mgr, liveSecrets{mgr.GetAPIReader()}, application.WithRecorder(s.events))
	process := s.process
	r := applicationresource.NewReconciler(mgr, liveSecrets{mgr.GetAPIReader()}, applicationresource.WithRecorder(s.events),
		applicationresource.WithHooks(func(h *clusters.Hooks) {
			h.Wrap = func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					return s.send(r, next, func(request string) (error, error) {
						if process == nil || r.Method == http.MethodGet {
							return nil, nil
						}
						return process.Request(request)
					})
				})
			}
		}))
	if s.close != nil {
		s.close()
	}
	if s.close = r.Close; s.unwatched {
		s.close()
	}
	return r
}

type roundTrip func(*http.Request) (*http.Response, error)

func (t roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (s *workloadStage) send(r *http.Request, next http.RoundTripper, fault func(string) (refuse, lose error)) (*http.Response, error) {
	s.mu.Lock()
	if r.URL.Query().Get("watch") == "" {
		s.asked = append(s.asked, r.Method+" "+strings.ReplaceAll(r.URL.Path, s.remote, "REMOTE"))
	}
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		if err := answer(r); err != nil {
			return nil, err
		}
	}
	refuse, lose := fault(r.Method + " " + r.URL.Path)
	if refuse != nil {
		return nil, refuse
	}
	resp, err := next.RoundTrip(r)
	if err == nil && lose != nil {
		resp.Body.Close()
		return nil, lose
	}
	return resp, err
}

// cluster replaces answers of the cluster by errors.
func (s *workloadStage) cluster(answer func(*http.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// requests returns those to the cluster so far but watches and discovery, and forgets them.
func (s *workloadStage) clusterRequests() (some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.asked {
		if strings.Contains(request, "REMOTE") {
			some = append(some, request)
		}
	}
	s.asked = nil
	return some
}

// liveSecrets reads Secrets from the API server.
type liveSecrets struct{ from client.Reader }

func (l liveSecrets) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, l.from.Get(ctx, key, secret)
}

func (liveSecrets) OnChange(func(types.NamespacedName)) {}

// kubeconfig gives access to the API server of the tests, changed as a test wants it.
func (s *workloadStage) kubeconfig(change func(*clientcmdapi.Config)) []byte {
	s.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: s.Config.Host, CertificateAuthorityData: s.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: s.Config.BearerToken, ClientCertificateData: s.Config.CertData, ClientKeyData: s.Config.KeyData}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: s.remote}
	config.CurrentContext = "x"
	if change != nil {
		change(config)
	}
	raw, err := clientcmd.Write(*config)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// connect puts on stage a target that is ready, with its Secret.
func (s *workloadStage) connect(name string) *workloadv1alpha1.KubernetesTarget {
	s.t.Helper()
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Labels: map[string]string{"name": name}}}
	target.Spec.ResourceReference = reference("Item", s.Prefix+"cluster")
	target.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: "kube-" + name}
	s.create(target)
	s.status(target, func() { target.SetConditions(xpv1.Available()) })
	secret := s.connectionSecret("kube-"+name, map[string]string{"kubeconfig": string(s.kubeconfig(nil))})
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(target, workloadv1alpha1.KubernetesTargetGroupVersionKind)}
	s.create(secret)
	return target
}

// template is one of an application.
func template(name string, o client.Object, secrets ...string) workloadv1alpha1.KubernetesApplicationResourceTemplate {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	t := workloadv1alpha1.KubernetesApplicationResourceTemplate{}
	t.Metadata.Name, t.Spec.Template = name, runtime.RawExtension{Raw: raw}
	for _, secret := range secrets {
		t.Spec.Secrets = append(t.Spec.Secrets, workloadv1alpha1.SecretReference{Name: secret})
	}
	return t
}

// configMap is an object for the cluster.
func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// newApp is application "app" of these templates.
func (s *workloadStage) newApp(templates ...workloadv1alpha1.KubernetesApplicationResourceTemplate) *workloadv1alpha1.KubernetesApplication {
	app := &workloadv1alpha1.KubernetesApplication{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "app"}}
	app.Spec.ResourceTemplates = templates
	return app
}

// pass reconciles the application, and all resources of the namespace.
func (s *workloadStage) pass() {
	s.t.Helper()
	if err := s.tryAll(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *workloadStage) tryAll() error {
	_, err := s.applications.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key("app")})
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	for _, resource := range s.resources() {
		if _, err := s.tryPass(resource.Name); err != nil {
			return fmt.Errorf("%s: %w", resource.Name, err)
		}
	}
	return nil
}

func (s *workloadStage) resources() []workloadv1alpha1.KubernetesApplicationResource {
	s.t.Helper()
	list := &workloadv1alpha1.KubernetesApplicationResourceList{}
	if err := s.Client.List(s.t.Context(), list, client.InNamespace(s.Namespace)); err != nil {
		s.t.Fatal(err)
	}
	return list.Items
}

// Settle satisfies scenario.World.
func (s *workloadStage) Settle() {
	s.t.Helper()
	for range 20 {
		before := len(s.process.Requests())
		err := s.tryAll() // a crashed process has errors
		if s.process.Crashed() || err == nil && len(s.process.Requests()) == before {
			return
		}
	}
	s.t.Errorf("it does not settle: %s", s.process)
}

// Close satisfies scenario.World.
func (s *workloadStage) Close() {
	ctx := context.Background()
	s.process = nil
	s.restart(s.Config)
	_ = s.Client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(s.remote))
	_ = s.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(s.remote))
	s.stage.Close()
}

func (s *workloadStage) app() *workloadv1alpha1.KubernetesApplication {
	s.t.Helper()
	app := &workloadv1alpha1.KubernetesApplication{}
	if !s.get("app", app) {
		s.t.Fatal("the application is gone")
	}
	return app
}

func (s *workloadStage) resource(name string) *workloadv1alpha1.KubernetesApplicationResource {
	s.t.Helper()
	resource := &workloadv1alpha1.KubernetesApplicationResource{}
	if !s.get(name, resource) {
		s.t.Fatalf("resource %s is gone", name)
	}
	return resource
}

// there reads an object in the cluster. It is false if there is none.
func (s *workloadStage) there(name string, o client.Object) bool {
	s.t.Helper()
	err := s.Client.Get(s.t.Context(), types.NamespacedName{Namespace: s.remote, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return err == nil
}

// wantData checks the data of a ConfigMap in the cluster, nil for none.
func (s *workloadStage) wantData(name string, want map[string]string) {
	s.t.Helper()
	if err := s.checkData(name, want); err != nil {
		s.t.Error(err)
	}
}

func (s *workloadStage) checkData(name string, want map[string]string) error {
	s.t.Helper()
	o := &corev1.ConfigMap{}
	exists := s.there(name, o)
	if exists != (want != nil) || exists && fmt.Sprint(o.Data) != fmt.Sprint(want) {
		return fmt.Errorf("ConfigMap %s: exists is %t, with %v; want %v", name, exists, o.Data, want)
	}
	return nil
}

// becomes reconciles until a ConfigMap in the cluster has data, since its watch may be behind.
func (s *workloadStage) becomes(name string, want map[string]string) {
	s.t.Helper()
	s.Eventually(s.t, "ConfigMap "+name+" is as declared", func(context.Context) error { return errors.Join(s.tryAll(), s.checkData(name, want)) })
}

// wantApp checks the state of the application and reason of its condition Ready.
func (s *workloadStage) wantApp(state workloadv1alpha1.KubernetesApplicationState, ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	app := s.app()
	condition := app.GetCondition(xpv1.TypeReady)
	if app.Status.State != state || condition.Reason != ready {
		s.t.Errorf("the application is %s, %s: %s; want %s, %s", app.Status.State, condition.Reason, condition.Message, state, ready)
	}
	wantParts(s.t, condition.Message, parts)
}

// wantResource is wantApp for a resource.
func (s *workloadStage) wantResource(name string, state workloadv1alpha1.KubernetesApplicationResourceState, ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	resource := s.resource(name)
	condition := resource.GetCondition(xpv1.TypeReady)
	if resource.Status.State != state || condition.Reason != ready {
		s.t.Errorf("%s is %s, %s: %s; want %s, %s", name, resource.Status.State, condition.Reason, condition.Message, state, ready)
	}
	wantParts(s.t, condition.Message+"\n"+resource.GetCondition(xpv1.TypeSynced).Message, parts)
}

func wantParts(t *testing.T, message string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("%q should contain %q", message, part)
		}
	}
}

// rawTemplate is a template of an object without a Go type.
func rawTemplate(name string, o map[string]any) workloadv1alpha1.KubernetesApplicationResourceTemplate {
	return template(name, &unstructured.Unstructured{Object: o})
}

// there0 is there for a cluster-scoped object, which has to exist.
func (s *workloadStage) there0(name string, o client.Object) {
	s.t.Helper()
	if err := s.Client.Get(s.t.Context(), types.NamespacedName{Name: name}, o); err != nil {
		s.t.Fatal(err)
	}
}

// custom is the Thing in the cluster.
func (s *workloadStage) custom(group, namespace string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"})
	if err := s.Client.Get(s.t.Context(), types.NamespacedName{Namespace: namespace, Name: "t"}, o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// checkOnly wants the cluster's namespace to have the ConfigMaps and Secrets of these names only, and none twice in an inventory.
func (s *workloadStage) checkOnly(names ...string) error {
	s.t.Helper()
	maps, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}
	err := errors.Join(s.Client.List(s.t.Context(), maps, client.InNamespace(s.remote)), s.Client.List(s.t.Context(), secrets, client.InNamespace(s.remote)))
	var has []string
	for _, o := range maps.Items {
		if o.Name != "kube-root-ca.crt" {
			has = append(has, o.Name)
		}
	}
	for _, o := range secrets.Items {
		has = append(has, o.Name)
	}
	listed := 0
	for _, resource := range s.resources() {
		listed += len(resource.Status.Inventory)
	}
	slices.Sort(has)
	slices.Sort(names)
	if !slices.Equal(has, names) || listed != len(names) {
		err = errors.Join(err, fmt.Errorf("the cluster has %v, inventories %d; want %v", has, listed, names))
	}
	return err
}

// untilApp reconciles until condition Ready of the application has a reason.
func (s *workloadStage) untilApp(ready xpv1.ConditionReason) func(context.Context) error {
	return func(context.Context) error {
		err := s.tryAll()
		if got := s.app().GetCondition(xpv1.TypeReady); got.Reason != ready {
			return fmt.Errorf("it is %s: %s; %v", got.Reason, got.Message, err)
		}
		return nil
	}
}

// untilGone reconciles until an object is gone.
func (s *workloadStage) untilGone(o client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return errors.Join(s.tryAll(), testkit.Gone(s.Client, o)(ctx)) }
}
