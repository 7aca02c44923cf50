// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// copiesOwner owns the fields of copies, which several resources may declare: they are replaced as a whole.
const copiesOwner = "bowline"

// copySecrets writes the copies of Secrets that differ from their sources.
func (r *Reconciler) copySecrets(ctx context.Context, p *pass) flow.Outcome {
	for _, secret := range p.secrets {
		if o := r.copySecret(ctx, p, secret); o.End != flow.Continue {
			return o
		}
	}
	return flow.Next()
}

func (r *Reconciler) copySecret(ctx context.Context, p *pass, secret *corev1.Secret) flow.Outcome {
	o := p.copyOf(secret.Name)
	one := p.itemOf(o, true)
	p.subscribe(p.cluster, o)
	live, err := observed(ctx, p.cluster, o)
	desired, taken := p.copied(secret, o), false
	switch {
	case err != nil:
	case live == nil:
		live, taken, err = p.cluster.Create(ctx, o, desired, copiesOwner)
	case live.GetDeletionTimestamp() != nil:
		return flow.AwaitAs(ReasonProgressing, "%s is being deleted in the cluster, and is created again then.", o)
	case !p.isOurs(p.known(one), live):
		return flow.Refuse(failure.ExternalNameTaken, "%s exists in the cluster and is no copy of Secret %q: rename one of the two", o, secret.Name)
	case isSame(live, desired):
	case live.Object["type"] != desired.Object["type"]: // which cannot be changed
		if err := p.cluster.Delete(ctx, o, live.GetUID()); err != nil {
			return r.failRemote(p, err)
		}
		return flow.Conflicted()
	default:
		desired.SetUID(live.GetUID())
		desired.SetResourceVersion(live.GetResourceVersion())
		live, err = p.cluster.Update(ctx, o, desired, copiesOwner)
	}
	switch {
	case err != nil:
		return r.failRemote(p, err)
	case taken:
		return flow.Conflicted()
	}
	p.record(one, live)
	return flow.Next()
}

// isSame is true for a copy that has exactly what is copied.
func isSame(live, desired *unstructured.Unstructured) bool {
	has, _, _ := unstructured.NestedMap(live.Object, "data")
	wants, _, _ := unstructured.NestedMap(desired.Object, "data")
	return clusters.Covers(live, desired) && len(has) == len(wants)
}

// copied returns the copy of a Secret, which names its source.
func (p *pass) copied(secret *corev1.Secret, to clusters.Object) *unstructured.Unstructured {
	data := map[string]any{}
	for key, value := range secret.Data {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": string(secret.Type), "data": data}}
	o.SetNamespace(to.Namespace)
	o.SetName(to.Name)
	o.SetLabels(map[string]string{clusters.LabelKeyWorkload: p.copyMark})
	source := &metav1.ObjectMeta{}
	meta.AllowPropagationFrom(source, secret)
	o.SetAnnotations(source.Annotations)
	return o
}
