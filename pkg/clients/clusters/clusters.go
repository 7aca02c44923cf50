// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// inFlight is how many calls of one cluster may wait for their answers, so that a slow one does not keep all workers waiting.
const inFlight = 8

// A SecretReader reads Secrets without a request where it can: *credentials.Secrets is one.
type SecretReader interface {
	Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
}

// Clusters holds the clients of the targets of one manager. It is safe for concurrent use.
type Clusters struct {
	secrets SecretReader
	shared  *clients.Shared[*Cluster]
	log     logr.Logger
	wake    func(types.NamespacedName)
	wrap    func(http.RoundTripper) http.RoundTripper
}

// Hooks are what Clusters calls. They must not block.
type Hooks struct {
	// Changed is called with whom a watched object concerns, see Cluster.Watch.
	Changed func(who types.NamespacedName)
	// Reachable is called with a target after its cluster got out of reach, or came back.
	Reachable func(target types.NamespacedName)
	// Wrap adds a transport around that of all clusters. Default: none.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// New returns Clusters that read kubeconfigs with a reader of Secrets.
func New(secrets SecretReader, log logr.Logger, h Hooks) *Clusters {
	reachable := func(key limits.Key) { h.Reachable(types.NamespacedName{Namespace: key.Namespace, Name: key.Name}) }
	return &Clusters{secrets: secrets, log: log, wake: h.Changed, wrap: h.Wrap, shared: clients.NewShared(log, (*Cluster).stop, reachable)}
}

// A Lease is a cluster in use by one pass, which releases it.
type Lease struct {
	*Cluster
	release func()
}

// Release returns the cluster, which must not be used afterwards.
func (l *Lease) Release() {
	if l != nil {
		l.release()
	}
}

// For returns the cluster of a target. Its errors may be read by the team.
func (c *Clusters) For(ctx context.Context, target *workloadv1alpha1.KubernetesTarget) (*Lease, error) {
	cluster, release, err := c.shared.Get(ctx, func() (w clients.Wanted[*Cluster], err error) {
		secret, err := c.secretOf(ctx, target)
		if err != nil {
			return w, err
		}
		key, kubeconfig := keyOf(types.NamespacedName{Namespace: target.Namespace, Name: target.Name}), secret.Data[xpv1.ResourceCredentialsSecretKubeconfigKey]
		return clients.Wanted[*Cluster]{Key: key, Version: sha256.Sum256(append([]byte(target.GetUID()), kubeconfig...)),
			Limits: limits.Config{InFlight: inFlight},
			New: func(_ context.Context, by *limits.Limiter) (*Cluster, error) {
				return c.open(kubeconfig, by)
			}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &Lease{cluster, release}, nil
}

// Last returns the cluster of a target as it was last used, although its Secret may be gone, as in a namespace that is being deleted: nil if
// this process did not use it.
func (c *Clusters) Last(target types.NamespacedName) *Lease {
	cluster, release, ok := c.shared.Last(keyOf(target))
	if !ok {
		return nil
	}
	return &Lease{cluster, release}
}

// Check returns what is wrong with the cluster of a target by the calls of this process, nil if nothing is.
func (c *Clusters) Check(target types.NamespacedName) error {
	return classify(c.shared.Check(keyOf(target)))
}

// secretOf returns the Secret of a target, which the controller of targets wrote and keeps as it is.
func (c *Clusters) secretOf(ctx context.Context, target *workloadv1alpha1.KubernetesTarget) (*corev1.Secret, error) {
	ref := target.Spec.WriteConnectionSecretToReference
	missing := &failure.Error{Reason: failure.WaitingForReferences,
		Message: fmt.Sprintf("KubernetesTarget %q has no Secret, such as after its managed resource withdrew consent: see its condition Ready", target.Name)}
	if ref == nil || ref.Name == "" {
		return nil, missing
	}
	secret, err := c.secrets.Get(ctx, types.NamespacedName{Namespace: target.Namespace, Name: ref.Name})
	switch {
	case objects.IsAbsent(err):
		return nil, missing
	case err != nil:
		return nil, failure.ForTeam(failure.InternalError, "reading the Secret of the target failed and is retried", err)
	case !metav1.IsControlledBy(secret, target):
		return nil, missing
	case len(secret.Data[xpv1.ResourceCredentialsSecretKubeconfigKey]) == 0:
		return nil, &failure.Error{Reason: failure.InvalidSettings, Message: fmt.Sprintf("the Secret of KubernetesTarget %q has no key %s: its "+
			"managed resource is not a Kubernetes cluster, or does not publish how to connect", target.Name, xpv1.ResourceCredentialsSecretKubeconfigKey)}
	}
	return secret, nil
}

// Forget closes the client of a target that is gone.
func (c *Clusters) Forget(target types.NamespacedName) { c.shared.Forget(keyOf(target)) }

// Stop closes all clients.
func (c *Clusters) Stop() { c.shared.Stop(context.Background()) }

func keyOf(target types.NamespacedName) limits.Key {
	return limits.Key{Group: workloadv1alpha1.Group, Kind: workloadv1alpha1.KubernetesTargetKind, Namespace: target.Namespace, Name: target.Name}
}
