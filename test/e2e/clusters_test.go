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
	remote, err := h.remote(t.Context(), h.claim.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kept}}); err != nil {
		t.Fatal(err)
	}
	h.Eventually(t, within, "the target's Secret opens the cluster", h.opens(h.target.Name))
	t.Run("a killed cloud", func(t *testing.T) {
		before := h.processes(t)
		h.Kill(t)
		if err := remote.Get(t.Context(), client.ObjectKey{Name: kept}, &corev1.Namespace{}); err != nil {
			t.Errorf("without the cloud: %v", err)
		}
		h.Up(t)
		h.Eventually(t, within, "the cluster works", h.opens(h.claim.Name))
		if after := h.processes(t); before == "" || after != before {
			t.Errorf("the server is process %q, and was %q", after, before)
		}
	})
	t.Run("a rotated token", func(t *testing.T) { h.rotate(t, remote) })
	t.Run("deletion", func(t *testing.T) {
		for _, o := range []client.Object{h.target, h.claim} {
			if err := h.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
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
	h.target = &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "target"}}
	h.target.Spec.ResourceReference = &corev1.ObjectReference{
		APIVersion: computev1alpha3.FavouriteClusterGroupVersionKind.GroupVersion().String(), Kind: computev1alpha3.FavouriteClusterKind,
		Name: h.claim.Spec.ResourceReference.Name,
	}
	h.target.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: h.target.Name}
	h.Create(t, h.target)
	return h
}

// remote returns a client that has only what a Secret of the team has.
func (h *hosted) remote(ctx context.Context, secret string) (client.Client, error) {
	data, err := h.Secret(ctx, h.claim.Namespace, secret)
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

// opens checks that a Secret of the team opens the cluster, which has what was stored there.
func (h *hosted) opens(secret string) func(context.Context) error {
	return func(ctx context.Context) error {
		remote, err := h.remote(ctx, secret)
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
		return errors.Join(h.opens(h.claim.Name)(ctx), h.opens(h.target.Name)(ctx))
	})
}
