// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
)

func secret(namespace, name, uid string) *corev1.Secret {
	s := &corev1.Secret{}
	s.Namespace, s.Name, s.UID = namespace, name, types.UID(uid)
	return s
}

func TestFullQuota(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	exceeded := apierrors.NewForbidden(secrets, "kube",
		errors.New("exceeded quota: full, requested: count/secrets=1, used: count/secrets=7, limited: count/secrets=7"))
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"R270 N10 a quota":          {exceeded, "full"},
		"R270 N10 one in an error":  {fmt.Errorf("writing: %w", exceeded), "full"},
		"R270 N10 another refusal":  {apierrors.NewForbidden(secrets, "kube", errors.New("not for you")), ""},
		"R270 N10 no refusal":       {errors.New("exceeded quota: full, but who says so"), ""},
		"R270 N10 nothing happened": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := copies.FullQuota(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
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
		"R271 with the copy":                  {[]metav1.Object{to}, true},
		"R271 and with one of another name":   {[]metav1.Object{to, other}, true},
		"R271 also with a former one of it":   {[]metav1.Object{to, former}, false},
		"R271 only with one of another name":  {[]metav1.Object{other}, false},
		"R271 with nobody":                    {nil, false},
		"R271 only with a former one of that": {[]metav1.Object{former}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := secret("vault", "source", "s")
			for _, with := range tc.with {
				meta.AllowPropagationTo(source, with)
			}
			if got := copies.Agrees(source, to); got != tc.want {
				t.Errorf("got %t for %v", got, source.Annotations)
			}
		})
	}
}

func Example() {
	source, to := secret("vault", "source", "s"), secret("team", "kube", "c")
	meta.AllowPropagationFrom(to, source)
	again := secret("vault", "source", "again")
	fmt.Println(copies.IsFrom(to, source), copies.IsOfLost(to, source))
	fmt.Println(copies.IsFrom(to, again), copies.IsOfLost(to, again))
	// Output:
	// true false
	// false true
}
