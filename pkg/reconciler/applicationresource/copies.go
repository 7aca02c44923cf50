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

// copiesOwner owns the fields of copies, which several resources may want.
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
	p.sees(p.cluster, o)
	live, err := look(ctx, p.cluster, o)
	if err != nil {
		return r.failRemote(p, err)
	}
	desired := copied(secret, o)
	known := p.known(one)
	switch {
	case live == nil:
	case live.GetDeletionTimestamp() != nil:
		return flow.AwaitAs(ReasonProgressing, "%s is being deleted in the cluster, and is created again then.", o)
	case !isCopyOf(live, secret) && (known.UID != live.GetUID() || !p.isOurs(one, live)):
		return flow.Refuse(failure.ExternalNameTaken, "%s exists in the cluster and is no copy of Secret %q: rename one of the two", o, secret.Name)
	case clusters.Covers(live, desired) && sameKeys(live, desired):
		p.saw(one, live)
		return flow.Next()
	default:
		desired.SetUID(live.GetUID())
	}
	written, created, err := p.cluster.Apply(ctx, o, desired, clusters.ApplyOptions{Owner: copiesOwner, Force: live != nil})
	switch {
	case err != nil:
		return r.failRemote(p, err)
	case live == nil && !created && !isCopyOf(written, secret):
		return flow.Conflicted()
	}
	p.saw(one, written)
	return flow.Next()
}

// isCopyOf is true for the copy of exactly this Secret.
func isCopyOf(live *unstructured.Unstructured, secret *corev1.Secret) bool {
	source, ok := meta.PropagatedFrom(live)
	return ok && source.UID == secret.UID && source.Namespace == secret.Namespace && source.Name == secret.Name
}

// sameKeys is true if a copy has no keys beside those of its source.
func sameKeys(live, desired *unstructured.Unstructured) bool {
	has, _, _ := unstructured.NestedMap(live.Object, "data")
	wants, _, _ := unstructured.NestedMap(desired.Object, "data")
	return len(has) == len(wants)
}

// copied returns the copy of a Secret, which names its source.
func copied(secret *corev1.Secret, to clusters.Object) *unstructured.Unstructured {
	data := map[string]any{}
	for key, value := range secret.Data {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": string(secret.Type), "data": data}}
	o.SetNamespace(to.Namespace)
	o.SetName(to.Name)
	o.SetLabels(map[string]string{clusters.LabelKeyWorkload: clusters.LabelCopy})
	source := &metav1.ObjectMeta{}
	meta.AllowPropagationFrom(source, secret)
	o.SetAnnotations(source.Annotations)
	return o
}
