// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package outlines

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	client "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// A store answers one read after the other.
type store struct {
	client.CustomResourceDefinitionInterface
	answers []*apiextensionsv1.CustomResourceDefinition // nil for a failure
}

var errStore = errors.New("no answer")

func (s *store) Get(context.Context, string, metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	next := s.answers[0]
	if s.answers = s.answers[1:]; next == nil {
		return nil, errStore
	}
	return next, nil
}

// definition returns one that serves a kind since the change of that number.
func definition(change string) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "notes.example.org", ResourceVersion: change}}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Storage: true,
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
	}}
	d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return d
}

// withCached returns outlines of an informer that has a definition and does not run.
func withCached(t *testing.T, d *apiextensionsv1.CustomResourceDefinition, answers ...*apiextensionsv1.CustomResourceDefinition) *Outlines {
	t.Helper()
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, d, 0, cache.Indexers{})
	o, err := New(informer, &store{answers: answers})
	if err == nil {
		_, err = o.recordVersion(d)
	}
	if err == nil {
		err = informer.GetIndexer().Add(d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestUnusedDefinitionBecomesAnOutline(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before func(*apiextensionsv1.CustomResourceDefinition)
		then   func(*testing.T, *Outlines)
		whole  bool
	}{
		"one of a kind that nobody asked for": {},
		"one that is used": {whole: true, then: func(t *testing.T, o *Outlines) {
			if err := o.restoreFor(t.Context(), "notes.example.org"); err != nil {
				t.Error(err)
			}
		}},
		"one that is being deleted, whose objects are served to delete them": {whole: true, before: func(d *apiextensionsv1.CustomResourceDefinition) {
			d.DeletionTimestamp = new(metav1.Now())
		}},
		"one that is not yet established": {whole: true, before: func(d *apiextensionsv1.CustomResourceDefinition) { d.Status.Conditions = nil }},
		"one that will be replaced by a change": {whole: true, then: func(t *testing.T, o *Outlines) {
			if _, err := o.recordVersion(definition("8")); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := definition("7")
			if tc.before != nil {
				tc.before(d)
			}
			o, read := withCached(t, d), d.DeepCopy()
			if tc.then != nil {
				tc.then(t, o)
			}
			o.replaceUnused()
			if got := o.cached(d.Name); isWhole(got) != tc.whole || (got.Spec.Versions[0].Schema != nil) != tc.whole {
				t.Errorf("the cache has %+v, want a whole one: %v", got.Spec, tc.whole)
			}
			if diff := cmp.Diff(read, d); diff != "" {
				t.Errorf("what others read was changed:\n%s", diff)
			}
		})
	}
}

func TestUsedDefinitionIsWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers []*apiextensionsv1.CustomResourceDefinition
		change  string // on its way to the cache
		want    string // change
		err     error
	}{
		"it is read again":                           {answers: []*apiextensionsv1.CustomResourceDefinition{definition("7")}, want: "7"},
		"the cache will get a change":                {answers: []*apiextensionsv1.CustomResourceDefinition{definition("8")}, want: "8"},
		"it changed after it was read":               {answers: []*apiextensionsv1.CustomResourceDefinition{definition("7"), definition("8")}, change: "8", want: "8"},
		"the store fails":                            {answers: []*apiextensionsv1.CustomResourceDefinition{nil}, err: errStore},
		"the change is in the cache before the read": {answers: []*apiextensionsv1.CustomResourceDefinition{definition("9")}, change: "8", want: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := withCached(t, definition("7"), tc.answers...)
			o.replaceUnused()
			if tc.change != "" {
				if _, err := o.recordVersion(definition(tc.change)); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.restoreFor(t.Context(), "notes.example.org"); !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			o.replaceUnused() // it stays whole
			switch got := o.cached("notes.example.org"); {
			case tc.err != nil && isWhole(got):
				t.Error("the cache has a whole definition that nobody read")
			case tc.err == nil && (!isWhole(got) || got.ResourceVersion != tc.want || got.Spec.Versions[0].Schema == nil):
				t.Errorf("the cache has %+v of change %s, want a whole one of change %s", got.Spec, got.ResourceVersion, tc.want)
			}
			if err := o.restoreFor(t.Context(), "unknown.example.org"); err != nil {
				t.Errorf("a kind without definition: %v", err)
			}
		})
	}
}
