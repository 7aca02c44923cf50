// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/compute/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// Applications are created, changed and deleted in several clusters, and the process is killed at a random moment of each: the clusters have
// exactly what is declared, once. BOWLINE_WORKLOADS_CLUSTERS and BOWLINE_WORKLOADS_TEMPLATES are how many; `make workloads-storm` has 200
// templates in 5 clusters.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	w := newWorkloads(t, int(plane.Setting(t, "BOWLINE_WORKLOADS_CLUSTERS", 2)), int(plane.Setting(t, "BOWLINE_WORKLOADS_TEMPLATES", 20)))
	w.logf("%d clusters are ready", len(w.clusters))
	for _, phase := range []struct {
		name string
		do   func(i int) error
		data map[string]string // of each ConfigMap; nil for none
	}{
		{"created", w.create, map[string]string{"n": "1"}},
		{"changed", w.change, map[string]string{"n": "2"}},
		{"deleted", w.remove, nil},
	} {
		begin := time.Now()
		for i := range w.clusters {
			w.do(phase.do(i))
		}
		time.Sleep(time.Duration(w.random.Int64N(int64(w.each) * int64(len(w.clusters)) * int64(20*time.Millisecond))))
		w.p.Kill(t)
		w.p.Up(t)
		w.logf("killed and up again while applications are %s", phase.name)
		w.p.Eventually(t, stormTime(w.each*len(w.clusters)), "all are "+phase.name, func(ctx context.Context) error { return w.check(ctx, phase.data) })
		w.logf("applications are %s, %.1f s after the first request", phase.name, time.Since(begin).Seconds())
	}
}

// workloads are applications in clusters, one in each.
type workloads struct {
	run

	each     int // ConfigMaps of an application
	clusters []client.Client
}

const (
	workloadTeam      = "shop"
	workloadNamespace = "store" // in each cluster
)

func newWorkloads(t *testing.T, clusters, templates int) *workloads {
	t.Helper()
	w := &workloads{run: newRun(t), each: templates/clusters - 1} // the last is the namespace
	w.p.ConnectEverywhere(t)
	class := &computev1alpha3.FavouriteClusterClass{ObjectMeta: metav1.ObjectMeta{Name: "small",
		Annotations: map[string]string{meta.AnnotationKeyDefaultClass: "true"}}}
	class.SpecTemplate.WriteConnectionSecretsToNamespace, class.SpecTemplate.ReclaimPolicy = "vault", xpv1.ReclaimDelete
	w.p.Create(t, class, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workloadTeam}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vault"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: workloadTeam, Name: "db"}, StringData: map[string]string{"password": "x"}})
	for i := range clusters {
		w.connect(fmt.Sprintf("c%d", i))
	}
	return w
}

// connect claims a cluster and creates a target for it.
func (w *workloads) connect(name string) {
	w.t.Helper()
	claim := &computev1alpha1.KubernetesCluster{ObjectMeta: metav1.ObjectMeta{Namespace: workloadTeam, Name: name}}
	claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	w.p.Create(w.t, claim)
	w.p.Eventually(w.t, settleTime, name+" is bound", func(ctx context.Context) error {
		_, err := inspect.Bound(ctx, w.p.Client, claim)
		return err
	})
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: workloadTeam, Name: name, Labels: map[string]string{"name": name}}}
	target.Spec.ResourceReference = claim.Spec.ResourceReference
	w.p.Create(w.t, target)
	secret, err := w.p.Secret(w.t.Context(), workloadTeam, name)
	w.do(err)
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(secret[xpv1.ResourceCredentialsSecretKubeconfigKey]))
	w.do(err)
	config.QPS = -1
	remote, err := client.New(config, client.Options{})
	w.do(err)
	w.clusters = append(w.clusters, remote)
}

func template(name string, o client.Object, secrets ...workloadv1alpha1.SecretReference) workloadv1alpha1.KubernetesApplicationResourceTemplate {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	t := workloadv1alpha1.KubernetesApplicationResourceTemplate{}
	t.Metadata.Name, t.Spec.Template, t.Spec.Secrets = name, runtime.RawExtension{Raw: raw}, secrets
	return t
}

// app is the application of a cluster.
func (w *workloads) app(i int, n string) *workloadv1alpha1.KubernetesApplication {
	app := &workloadv1alpha1.KubernetesApplication{ObjectMeta: metav1.ObjectMeta{Namespace: workloadTeam, Name: fmt.Sprintf("app%d", i)}}
	app.Spec.TargetSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": fmt.Sprintf("c%d", i)}}
	app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, template(app.Name+"-namespace", &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: workloadNamespace}}))
	for j := range w.each {
		app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, template(fmt.Sprintf("%s-%d", app.Name, j), &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: workloadNamespace, Name: fmt.Sprintf("m%d", j)}, Data: map[string]string{"n": n},
		}, workloadv1alpha1.SecretReference{Name: "db"}))
	}
	return app
}

func (w *workloads) create(i int) error { return w.p.Client.Create(w.t.Context(), w.app(i, "1")) }

func (w *workloads) change(i int) error {
	return w.insist(func(ctx context.Context) error {
		app, changed := &workloadv1alpha1.KubernetesApplication{}, w.app(i, "2")
		if err := w.p.Client.Get(ctx, client.ObjectKeyFromObject(changed), app); err != nil {
			return err
		}
		app.Spec.ResourceTemplates = changed.Spec.ResourceTemplates
		return w.p.Client.Update(ctx, app)
	}, func(error) bool { return false })
}

func (w *workloads) remove(i int) error { return w.p.Client.Delete(w.t.Context(), w.app(i, "")) }

// check wants every cluster to have the ConfigMaps of its application with some data, and nothing else of Bowline's; nothing at all without.
func (w *workloads) check(ctx context.Context, data map[string]string) error {
	want := 0
	if data != nil {
		want = w.each
	}
	for i, cluster := range w.clusters {
		maps, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}
		marked := client.HasLabels{clusters.LabelKeyWorkload}
		err := errors.Join(cluster.List(ctx, maps, marked), cluster.List(ctx, secrets, marked))
		if err != nil {
			return err
		}
		if len(maps.Items) != want || len(secrets.Items) != min(want, 1) {
			return fmt.Errorf("cluster %d has %d ConfigMaps and %d Secrets; want %d; not applied: %v", i, len(maps.Items), len(secrets.Items), want, w.pending(ctx))
		}
		for _, o := range maps.Items {
			if fmt.Sprint(o.Data) != fmt.Sprint(data) {
				return fmt.Errorf("%s in cluster %d has %v; not applied: %v", o.Name, i, o.Data, w.pending(ctx))
			}
		}
		app := w.app(i, "")
		if data == nil {
			if err := testkit.Gone(w.p.Client, app)(ctx); err != nil {
				return err
			}
			continue
		}
		if err := w.p.Client.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if ready := app.GetCondition(xpv1.TypeReady); ready.Status != corev1.ConditionTrue || ready.ObservedGeneration != app.Generation {
			return fmt.Errorf("%s is %s: %s", app.Name, ready.Reason, ready.Message)
		}
	}
	return nil
}

// pending describes the applications and their resources that are not as declared.
func (w *workloads) pending(ctx context.Context) (all []string) {
	apps, resources := &workloadv1alpha1.KubernetesApplicationList{}, &workloadv1alpha1.KubernetesApplicationResourceList{}
	if err := errors.Join(w.p.Client.List(ctx, apps), w.p.Client.List(ctx, resources)); err != nil {
		return []string{err.Error()}
	}
	var of []interface {
		client.Object
		resource.Conditioned
	}
	for i := range apps.Items {
		of = append(of, &apps.Items[i])
	}
	for i := range resources.Items {
		of = append(of, &resources.Items[i])
	}
	for _, o := range of {
		ready, synced := o.GetCondition(xpv1.TypeReady), o.GetCondition(xpv1.TypeSynced)
		if ready.Status != corev1.ConditionTrue || ready.ObservedGeneration != o.GetGeneration() {
			all = append(all, fmt.Sprintf("%s of generation %d: %s of %d, %s: %s", o.GetName(), o.GetGeneration(), ready.Reason, ready.ObservedGeneration,
				synced.Reason, synced.Message))
		}
	}
	return all
}
