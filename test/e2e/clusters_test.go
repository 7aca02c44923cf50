// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/compute/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// A claim gets a cluster that is a real API server, which outlives kills of the cloud, follows a rotation of its token, and is deleted whole.
func TestHostedCluster(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	remote, err := h.remote(t.Context(), h.claim.Namespace, h.claim.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kept}}); err != nil {
		t.Fatal(err)
	}
	h.Eventually(t, within, "the target's Secret opens the cluster", h.opens(h.target.Namespace, h.target.Name))
	t.Run("a target of another namespace (N27)", h.share)
	t.Run("a killed cloud", func(t *testing.T) {
		before := h.processes(t)
		h.Kill(t)
		if err := remote.Get(t.Context(), client.ObjectKey{Name: kept}, &corev1.Namespace{}); err != nil {
			t.Errorf("without the cloud: %v", err)
		}
		h.Up(t)
		h.Eventually(t, within, "the cluster works", h.opens(h.claim.Namespace, h.claim.Name))
		if after := h.processes(t); before == "" || after != before {
			t.Errorf("the server is process %q, and was %q", after, before)
		}
	})
	t.Run("an application (K80)", func(t *testing.T) { h.runs(t, "1") })
	t.Run("a rotated token", func(t *testing.T) { h.rotate(t, remote) })
	t.Run("the application with the new token", func(t *testing.T) { h.runs(t, "2") })
	t.Run("deletion", func(t *testing.T) {
		all := []client.Object{h.claim, h.target, h.app("")}
		for _, o := range all {
			if err := h.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		for _, o := range all { // in whatever order they go
			h.Eventually(t, within, o.GetName()+" is deleted", testkit.Gone(h.Client, o))
		}
		h.Eventually(t, within, "the cluster is gone", func(context.Context) error {
			left, err := filepath.Glob(h.servers())
			if err == nil && len(left) > 0 {
				err = fmt.Errorf("%v are left", left)
			}
			return err
		})
	})
}

// kept is a namespace in the cluster.
const kept = "kept"

// hosted is a claim for a cluster, and a target in the same namespace.
type hosted struct {
	*plane.Plane

	cloud  *inspect.Project
	claim  *computev1alpha1.KubernetesCluster
	target *workloadv1alpha1.KubernetesTarget
}

// newTarget returns a target of a namespace for the cluster, whose Secret has the name of the target.
func (h *hosted) newTarget(namespace string) *workloadv1alpha1.KubernetesTarget {
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}}
	target.Spec.ResourceReference = &corev1.ObjectReference{
		APIVersion: computev1alpha3.FavouriteClusterGroupVersionKind.GroupVersion().String(), Kind: computev1alpha3.FavouriteClusterKind,
		Name: h.claim.Spec.ResourceReference.Name,
	}
	target.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: target.Name}
	return target
}

// share gives another namespace a target, which gets nothing before the managed resource consents, and nothing afterwards.
func (h *hosted) share(t *testing.T) {
	const other = "reports"
	target := h.newTarget(other)
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}, target)
	consent := func(namespaces string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyAllowedNamespaces, namespaces)
		mg := &computev1alpha3.FavouriteCluster{ObjectMeta: metav1.ObjectMeta{Name: h.claim.Spec.ResourceReference.Name}}
		if err := h.Client.Patch(t.Context(), mg, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
	h.Eventually(t, within, "it is refused", func(ctx context.Context) error {
		err := h.Client.Get(ctx, client.ObjectKeyFromObject(target), target)
		if reason := target.GetCondition(xpv1.TypeReady).Reason; err == nil && reason != xpv1.ReasonNotAllowed {
			err = fmt.Errorf("the reason is %q", reason)
		}
		return err
	})
	if _, err := h.Secret(t.Context(), other, target.Name); !apierrors.IsNotFound(err) {
		t.Errorf("without consent, reading its Secret returns %v", err)
	}
	consent(other)
	h.Eventually(t, within, "it opens the cluster", h.opens(other, target.Name))
	consent("")
	h.Eventually(t, within, "its Secret is gone", func(ctx context.Context) error {
		_, err := h.Secret(ctx, other, target.Name)
		if err == nil {
			return errors.New("it exists")
		}
		return client.IgnoreNotFound(err)
	})
	if err := h.Client.Delete(t.Context(), target); err != nil {
		t.Fatal(err)
	}
}

func newHosted(t *testing.T) *hosted {
	t.Helper()
	h := &hosted{Plane: plane.New(t)}
	h.Up(t)
	h.cloud = h.ConnectEverywhere(t)
	const team = "shop"
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vault}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
	class := &computev1alpha3.FavouriteClusterClass{ObjectMeta: metav1.ObjectMeta{Name: "small",
		Annotations: map[string]string{meta.AnnotationKeyDefaultClass: "true"}}}
	class.SpecTemplate.WriteConnectionSecretsToNamespace, class.SpecTemplate.ReclaimPolicy = vault, xpv1.ReclaimDelete
	h.claim = &computev1alpha1.KubernetesCluster{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "apps"}}
	h.claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: h.claim.Name}
	h.Create(t, class, h.claim)
	h.Eventually(t, within, "the claim is bound", func(ctx context.Context) error {
		_, err := inspect.Bound(ctx, h.Client, h.claim)
		return err
	})
	h.target = h.newTarget(team)
	h.Create(t, h.target)
	return h
}

// remote returns a client that has only what a Secret has.
func (h *hosted) remote(ctx context.Context, namespace, secret string) (client.Client, error) {
	data, err := h.Secret(ctx, namespace, secret)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(data[xpv1.ResourceCredentialsSecretKubeconfigKey]))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return client.New(config, client.Options{})
}

// opens checks that a Secret opens the cluster, which has what was stored there.
func (h *hosted) opens(namespace, secret string) func(context.Context) error {
	return func(ctx context.Context) error {
		remote, err := h.remote(ctx, namespace, secret)
		if err != nil {
			return err
		}
		return remote.Get(ctx, client.ObjectKey{Name: kept}, &corev1.Namespace{})
	}
}

// servers is a pattern of the folders of clusters in the cloud.
func (h *hosted) servers() string { return filepath.Join(h.Dir, "cloud", "instances", "cluster-*") }

// processes has the ids of all API servers of the cloud.
func (h *hosted) processes(t *testing.T) (pids string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.servers(), "data", "lock"))
	for _, file := range files {
		pid, readErr := os.ReadFile(file)
		pids, err = pids+string(pid), errors.Join(err, readErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// rotate rotates the token in the cloud. former is a client with the present one.
func (h *hosted) rotate(t *testing.T, former client.Client) {
	name := h.claim.Spec.ResourceReference.Name
	if _, err := h.cloud.Clusters.Update(t.Context(), name, cluster.UpdateClusterInput{RotateToken: true}); err != nil {
		t.Fatal(err)
	}
	h.Eventually(t, within, "the former token is refused", func(ctx context.Context) error {
		if err := former.Get(ctx, client.ObjectKey{Name: kept}, &corev1.Namespace{}); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("the error is %w", err)
		}
		return nil
	})
	mg := &computev1alpha3.FavouriteCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	now := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"now"}}}`, meta.AnnotationKeyReconcileRequestedAt)
	if err := h.Client.Patch(t.Context(), mg, client.RawPatch(types.MergePatchType, now)); err != nil {
		t.Fatal(err)
	}
	h.Eventually(t, within, "both Secrets have the new token", func(ctx context.Context) error {
		return errors.Join(h.opens(h.claim.Namespace, h.claim.Name)(ctx), h.opens(h.target.Namespace, h.target.Name)(ctx))
	})
}

// app is an application of the target's namespace with a ConfigMap in the cluster.
func (h *hosted) app(content string) *workloadv1alpha1.KubernetesApplication {
	app := &workloadv1alpha1.KubernetesApplication{ObjectMeta: metav1.ObjectMeta{Namespace: h.target.Namespace, Name: "app"}}
	t := workloadv1alpha1.KubernetesApplicationResourceTemplate{}
	t.Metadata.Name = "settings"
	t.Spec.Template.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":"settings"},"data":{"content":%q}}`, kept, content)
	app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, t)
	return app
}

// runs creates the application or changes its content, and waits until the cluster has that.
func (h *hosted) runs(t *testing.T, content string) {
	app := h.app(content)
	want := app.Spec
	err := h.Client.Get(t.Context(), client.ObjectKeyFromObject(app), app)
	if apierrors.IsNotFound(err) {
		err = h.Client.Create(t.Context(), app)
	} else if err == nil {
		app.Spec.ResourceTemplates = want.ResourceTemplates
		err = h.Client.Update(t.Context(), app)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.Eventually(t, within, "the cluster has it", func(ctx context.Context) error {
		remote, err := h.remote(ctx, h.target.Namespace, h.target.Name)
		if err != nil {
			return err
		}
		o := &corev1.ConfigMap{}
		if err := remote.Get(ctx, client.ObjectKey{Namespace: kept, Name: "settings"}, o); err != nil || o.Data["content"] != content {
			return fmt.Errorf("it has %v, %w", o.Data, err)
		}
		return nil
	})
}
