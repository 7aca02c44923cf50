// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyPublishedTo on a managed resource says which connection secret its details were last published to, as
// namespace/name: another that is named later takes over what that one holds, wherever it is.
const AnnotationKeyPublishedTo = "bowline.dev/connection-published-to"

// publishedTo returns what AnnotationKeyPublishedTo says, the zero name without it. Who may write to an object in a namespace
// has no say about others.
func publishedTo(o metav1.Object) (to types.NamespacedName) {
	to.Namespace, to.Name, _ = strings.Cut(o.GetAnnotations()[AnnotationKeyPublishedTo], "/")
	if to.Name != "" && o.GetNamespace() != "" {
		to.Namespace = o.GetNamespace()
	}
	return to
}

// connectionSecret returns the name of the connection secret that an object names, the zero name for none.
func connectionSecret(o client.Object) types.NamespacedName {
	ref, wanted := resource.ConnectionSecretReference(o)
	if !wanted {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// moved is true for an object that was published to another secret than it names now.
func moved(o client.Object) bool {
	return publishedTo(o).Name != "" && publishedTo(o) != connectionSecret(o)
}

// setPublishedTo writes AnnotationKeyPublishedTo.
func setPublishedTo(o metav1.Object, to types.NamespacedName) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationKeyPublishedTo] = to.String()
	o.SetAnnotations(annotations)
}

// notePublished notes with a write that is made anyway where this pass published, or an object without a note will be published.
func (p *pass) notePublished(o metav1.Object) {
	to := connectionSecret(p.managed)
	if to.Name != "" && (p.published != nil || publishedTo(o).Name == "") {
		setPublishedTo(o, to)
	}
}

// noteMove notes another connection secret as soon as it has taken over what the one before holds.
func (r *Reconciler) noteMove(ctx context.Context, p *pass) outcome {
	to := connectionSecret(p.managed)
	if !moved(p.managed) || to.Name == "" {
		return next()
	}
	err := r.writeMetadata(ctx, p, func(o metav1.Object) { setPublishedTo(o, to) })
	if apierrors.IsConflict(err) {
		return outcome{end: conflict}
	}
	if err != nil {
		return fail(ReasonCannotUpdateMR, fmt.Errorf("recording where connection details are published: %w", err))
	}
	return next()
}
