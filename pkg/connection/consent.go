// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Allowed reports whether a managed resource lets targets of a namespace have its connection Secret: it is bound to a claim of
// that namespace, or lists the namespace (N27).
func Allowed(mg resource.BindableManaged, namespace string) bool {
	ref := mg.GetClaimReference()
	bound := ref != nil && ref.UID != "" && ref.Namespace == namespace && mg.GetBindingPhase() == xpv1.BindingPhaseBound
	return bound || Listed(mg, namespace)
}

// Listed reports whether annotation bowline.dev/allowed-namespaces of a managed resource lists the namespace, or "*" (N27).
func Listed(mg metav1.Object, namespace string) bool {
	for allowed := range strings.SplitSeq(mg.GetAnnotations()[meta.AnnotationKeyAllowedNamespaces], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == namespace {
			return true
		}
	}
	return false
}
