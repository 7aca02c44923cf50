// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// ofConfigMap returns a ConfigMap, which stands for a managed resource, without creating it.
func ofConfigMap(s stage, name string) stage {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	o.SetNamespace(s.Namespace)
	o.SetName(name)
	o.SetUID(uuid.NewUUID())
	s.object = o
	return s
}

func TestSweepDeletesTheStatesOfObjectsThatAreGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	create := func(of stage) {
		of.object.SetUID("")
		if err := s.Client.Create(t.Context(), of.object); err != nil {
			t.Fatal(err)
		}
	}
	there, gone, replaced, unserved, untyped := ofConfigMap(s, "there"), ofConfigMap(s, "gone"), ofConfigMap(s, "replaced"), s, ofConfigMap(s, "untyped")
	changing := ofConfigMap(s, "changing")
	create(there)
	untyped.object.SetGroupVersionKind(schema.GroupVersionKind{})
	for name, of := range map[string]stage{"there": there, "gone": gone, "replaced": replaced, "unserved": unserved, "untyped": untyped, "changing": changing} {
		if err := of.save(t.Context(), &state.State{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	formerly := replaced.object.GetUID()
	create(replaced)
	other := &corev1.Secret{}
	other.Namespace, other.Name = s.Namespace, "other"
	if err := s.Client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	var forgotten []string
	forget := func(uid string) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		forgotten = append(forgotten, uid)
		return uid != string(changing.object.GetUID()), nil
	}
	controlplanetest.Run(t, func(ctx context.Context) error { return s.Sweep(ctx, logr.Discard(), forget) })
	s.Eventually(t, "the states of objects that are gone are deleted", func(ctx context.Context) error {
		for _, uid := range []types.UID{gone.object.GetUID(), formerly} {
			err := s.Client.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: state.NamePrefix + string(uid)}, &corev1.Secret{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("the state of "+string(uid)+" is there"), err)
			}
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	for _, of := range []stage{there, unserved, untyped} {
		if slices.Contains(forgotten, string(of.object.GetUID())) {
			t.Errorf("what else is known of %s was removed", of.object.GetName())
		}
	}
	changing.wantStored(t, &state.State{Name: "changing"})
	there.wantStored(t, &state.State{Name: "there"})
	unserved.wantStored(t, &state.State{Name: "unserved"})
	untyped.wantStored(t, &state.State{Name: "untyped"})
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
		t.Error(err)
	}
}

// The state of an object stays while its kind is not served, which a server answers with 404, too.
func TestSweepKeepsTheStatesOfUnservedKinds(t *testing.T) {
	t.Parallel()
	s := ofConfigMap(newStage(t), "hidden")
	s.object.SetUID("")
	if err := s.Client.Create(t.Context(), s.object); err != nil {
		t.Fatal(err)
	}
	if err := s.save(t.Context(), &state.State{Name: "hidden"}); err != nil {
		t.Fatal(err)
	}
	asked := false
	sweeper := s.after(t, fault.Intercept(s.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/configmaps/hidden") {
			asked, r = true, r.Clone(r.Context())
			r.URL.Path = "/apis/example.org/v1/hidden"
		}
		return next.RoundTrip(r)
	}))
	if err := sweeper.SweepOnce(t.Context()); err != nil || !asked {
		t.Errorf("the sweep looked: %v, error %v", asked, err)
	}
	s.wantStored(t, &state.State{Name: "hidden"})
}

// A state whose Secret a person deleted is stored again while its object exists: nothing else may have the secrets in it.
func TestSweepRestoresDeletedStates(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	deleted, gone, unserved := ofConfigMap(s, "deleted"), ofConfigMap(s, "gone"), s
	deleted.object.SetUID("")
	if err := s.Client.Create(t.Context(), deleted.object); err != nil {
		t.Fatal(err)
	}
	want := &state.State{Name: "deleted", Value: []byte(`{"password":"x"}`), Private: []byte("private")}
	for _, of := range []stage{deleted, gone, unserved} {
		of.mustSave(t, want)
		if err := s.Client.Delete(t.Context(), of.secret(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SweepOnce(t.Context()); err == nil {
		t.Error("it is not said that the object of a state cannot be looked up")
	}
	deleted.wantStored(t, want)
	gone.wantStored(t, nil)
	unserved.wantStored(t, nil)
	want = &state.State{Name: "changed"}
	deleted.mustSave(t, want)
	deleted.wantStored(t, want)
}
