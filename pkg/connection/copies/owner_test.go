// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

func secret(namespace, name, uid string) *corev1.Secret {
	s := &corev1.Secret{}
	s.Namespace, s.Name, s.UID = namespace, name, types.UID(uid)
	return s
}

func TestRefusedCreation(t *testing.T) {
	t.Parallel()
	target := &workloadv1alpha1.KubernetesTarget{}
	target.Spec.ResourceReference = &corev1.ObjectReference{Kind: "Item"}
	target.Namespace, target.Spec.WriteConnectionSecretToReference = "team", &xpv1.LocalSecretReference{Name: "kube"}
	o := Target(target, workloadv1alpha1.KubernetesTargetGroupVersionKind)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "kube", errors.New("exceeded quota: full, used: 7"))
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "kube", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err     error
		blocked bool
	}{
		"a quota, or a missing permission (R270, N10)":       {forbidden, true},
		"wrapped (R270, N10)":                                {fmt.Errorf("creating: %w", forbidden), true},
		"a namespace that is being deleted (R270, N32)":      {terminating, false},
		"another error that mentions a quota (R270, N10)":    {errors.New("exceeded quota: full"), false},
		"a conflict, which is retried (R17)":                 {apierrors.NewConflict(schema.GroupResource{}, "kube", nil), false},
		"no answer from the API server, which is no refusal": {errors.New("connection refused"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := o.refused(tc.err)
			if IsBlocked(err) != tc.blocked || !errors.Is(err, tc.err) {
				t.Fatalf("blocked %t: %v", IsBlocked(err), err)
			}
			if message := failure.Of(err).Message; tc.blocked && (!strings.Contains(message, `"kube"`) || strings.Contains(message, "used: 7")) {
				t.Errorf("message %q", message)
			}
		})
	}
}

func TestAgrees(t *testing.T) {
	t.Parallel()
	to, former, other := secret("team", "kube", "c"), secret("team", "kube", "f"), secret("team", "others", "o")
	for name, tc := range map[string]struct {
		with []metav1.Object
		want bool
	}{
		"with the copy (R271)":                      {[]metav1.Object{to}, true},
		"with a Secret of another name, too (R271)": {[]metav1.Object{to, other}, true},
		"with an earlier copy, too (R271)":          {[]metav1.Object{to, former}, false},
		"only with another Secret (R271)":           {[]metav1.Object{other}, false},
		"with none (R271)":                          {nil, false},
		"only with an earlier copy (R271)":          {[]metav1.Object{former}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := secret("vault", "source", "s")
			for _, with := range tc.with {
				meta.AllowPropagationTo(source, with)
			}
			if got := agrees(source, to); got != tc.want {
				t.Errorf("got %t for %v", got, source.Annotations)
			}
		})
	}
}
