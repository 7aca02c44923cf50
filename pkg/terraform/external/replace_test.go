// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// rename changes a field for which the provider creates another resource, with annotations. An empty value removes one.
func (s *stage) rename(o *unstructured.Managed, name string, annotations map[string]string) {
	s.t.Helper()
	s.edit(o, func(content map[string]any) {
		set(content, name, "spec", "forProvider", "name")
		all := o.GetAnnotations()
		for key, value := range annotations {
			if all[key] = value; value == "" {
				delete(all, key)
			}
		}
		o.SetAnnotations(all)
	})
}

// refuses waits until an object reports the field that cannot be changed, and checks that nothing was done.
func (s *stage) refuses(o *unstructured.Managed, deleted int) {
	s.t.Helper()
	s.eventually(o, "it reports the field", func() error {
		if c := o.GetCondition(xpv1.TypeSynced); c.ObservedGeneration != o.GetGeneration() || xpv1.FailureOf(o).Reason != failure.InvalidSettings {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
		return nil
	})
	if got := s.calls("delete"); got != deleted {
		s.t.Errorf("%d were deleted, want %d", got, deleted)
	}
}

// With a person's permission for its field a resource is replaced, once.
func TestReplacement(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		former := meta.GetExternalName(north)
		allow := map[string]string{meta.AnnotationKeyAllowReplace: "name"}

		for name, annotations := range map[string]map[string]string{
			"permission for another field": {meta.AnnotationKeyAllowReplace: "size"},
			"protection":                   {meta.AnnotationKeyAllowReplace: "name", meta.AnnotationKeyProtect: "true"},
		} {
			t.Run(name+" does not permit it (N97)", func(t *testing.T) {
				s := s.of(t)
				s.rename(north, name, annotations)
				s.refuses(north, 0)
				s.rename(north, "north", map[string]string{meta.AnnotationKeyAllowReplace: "", meta.AnnotationKeyProtect: ""})
				s.ready(north)
			})
		}
		for name, policies := range map[string][]any{"Update": {"Observe", "Create", "Delete"}, "Delete": {"Observe", "Create", "Update"}} {
			t.Run("policies without "+name+" do not permit it (N97)", func(t *testing.T) {
				s := s.of(t)
				s.edit(north, func(o map[string]any) { set(o, policies, "spec", "managementPolicies") })
				s.rename(north, "kept", allow)
				s.refuses(north, 0)
				s.rename(north, "north", map[string]string{meta.AnnotationKeyAllowReplace: ""})
				s.edit(north, func(o map[string]any) { set(o, []any{"*"}, "spec", "managementPolicies") })
				s.ready(north)
			})
		}
		t.Run("it is permitted once (N97)", func(t *testing.T) {
			s := s.of(t)
			s.rename(north, "south", allow)
			s.replaced(north, former)
			s.checkOne(north)
			s.rename(north, "west", nil)
			s.refuses(north, 1)
			s.rename(north, "south", nil)
			s.ready(north)
		})
		t.Run("it continues after refusals of the vendor (N97)", func(t *testing.T) {
			s := s.of(t)
			former := meta.GetExternalName(north)
			s.faults(map[string]any{"verb": "delete", "do": "fail", "times": 2}, map[string]any{"verb": "create", "do": "fail", "times": 2})
			s.rename(north, "east", allow)
			s.replaced(north, former)
			if files := s.files("berth"); len(files) != 1 {
				t.Errorf("there are %v", files)
			}
		})
		t.Run("it continues after a deletion whose answer was an error (N97)", func(t *testing.T) {
			s := s.of(t)
			former := meta.GetExternalName(north)
			s.faults(map[string]any{"verb": "delete", "when": "after", "do": "fail", "times": 1})
			s.rename(north, "east again", allow)
			s.replaced(north, former)
			s.checkOne(north)
		})
		t.Run("one that was not replaced, and is gone outside, is lost (N97)", func(t *testing.T) {
			s := s.of(t)
			s.faults(map[string]any{"verb": "delete", "do": "fail"})
			deletes := s.calls("delete")
			s.rename(north, "inland", allow)
			s.Eventually(t, "the deletion is refused", func(context.Context) error {
				if s.calls("delete") == deletes {
					return errors.New("it was not tried")
				}
				return nil
			})
			s.rename(north, "east again", nil)
			s.ready(north)
			s.vanish(north)
			s.eventually(north, "it is reported lost", func() error { return s.hasFailed(north, failure.ExternalResourceLost) })
		})
	})
}

// replaced waits until an object is ready with another external resource, and has no permission left.
func (s *stage) replaced(o *unstructured.Managed, former string) {
	s.t.Helper()
	s.eventually(o, "it has another resource", func() error {
		if ready := o.GetCondition(xpv1.TypeReady); meta.GetExternalName(o) == former || ready.Status != corev1.ConditionTrue {
			return fmt.Errorf("%s: %s: %s", meta.GetExternalName(o), ready.Reason, o.GetCondition(xpv1.TypeSynced).Message)
		}
		return s.isReady(o)
	})
	if value, has := o.GetAnnotations()[meta.AnnotationKeyAllowReplace]; has {
		s.t.Errorf("the permission %q is left", value)
	}
	secret := &corev1.Secret{}
	s.must(s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: o.GetName()}, secret))
}
