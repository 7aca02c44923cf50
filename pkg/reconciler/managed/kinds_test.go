// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A lodger is a Thing whose neighbour is a house: an object of another kind, in a group of each test's own.
type lodger struct {
	thing.Thing `json:",inline"`
}

func (l *lodger) DeepCopyObject() runtime.Object { return &lodger{*l.Thing.DeepCopy()} }

type lodgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []lodger `json:"items"`
}

func (l *lodgerList) DeepCopyObject() runtime.Object {
	out := &lodgerList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for _, item := range l.Items {
		out.Items = append(out.Items, lodger{*item.Thing.DeepCopy()})
	}
	return out
}

// A street is a fleet of lodgers and houses.
type street struct {
	*fleet
	houses schema.GroupVersionKind // not installed
	open   atomic.Int32            // watches of definitions
}

func newStreet(t *testing.T) *street {
	t.Helper()
	group := strings.ToLower(rand.Text()) + ".test.bowline.dev"
	s, known := &street{houses: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "House"}}, runtime.NewScheme()
	addKind(t, known, thing.ThingGroupVersionKind, &lodger{}, &lodgerList{})
	addKind(t, known, s.houses, &thing.Thing{}, &thing.ThingList{})
	if err := apiextensionsv1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	s.fleet = fleetOf(t, known)
	return s
}

func addKind(t testing.TB, scheme *runtime.Scheme, kind schema.GroupVersionKind, object, list runtime.Object) {
	t.Helper()
	scheme.AddKnownTypeWithName(kind, object)
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), list)
	metav1.AddToGroupVersion(scheme, kind.GroupVersion())
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
}

// installHouses makes the API server serve the houses' kind.
func (s *street) installHouses() {
	s.t.Helper()
	crd := thing.CRD()
	crd.Name = "houses." + s.houses.Group
	crd.Spec.Group = s.houses.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "House", ListKind: "HouseList", Plural: "houses",
		Singular: "house"}
	if err := controlplanetest.Install(s.t.Context(), s.env.Config, crd); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.env.Client.Delete(context.Background(), crd) }) // the test's own context has ended
}

// controlLodgers runs a controller of lodgers, which counts its watches of definitions.
func (s *street) controlLodgers(o ...managed.ReconcilerOption) {
	s.t.Helper()
	counted := fault.Intercept(s.env.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && strings.HasSuffix(req.URL.Path, "/customresourcedefinitions") && fault.IsWatch(req) {
			s.open.Add(1)
			fault.OnClose(resp, func() { s.open.Add(-1) })
		}
		return resp, err
	})
	control(s.t, counted, s.env.Scheme, &lodger{}, s.label,
		append(o, managed.WithExternalConnecter(newShelf()), managed.WithPollInterval(time.Hour))...)
}

// addLodger creates a lodger of the house that is added later.
func (s *street) addLodger(name string) *lodger {
	s.t.Helper()
	l := &lodger{}
	s.create(name, l, &l.Thing, refersTo(s.env.Prefix+"house"))
	return l
}

// sees waits until the message of condition Synced, or the reason of condition Ready, contains a text.
func (s *street) sees(mg resource.Managed, text string) {
	s.t.Helper()
	waitFor(s.t, s.env, mg, text, func(mg resource.Managed) bool {
		return strings.Contains(fmt.Sprint(mg.GetCondition(xpv1.TypeReady).Reason, ": ", mg.GetCondition(xpv1.TypeSynced).Message),
			text)
	})
}

// watches waits until so many watches of definitions are open.
func (s *street) watches(want int32) {
	s.t.Helper()
	s.env.Eventually(s.t, fmt.Sprintf("%d watches of definitions", want), func(context.Context) error {
		if open := s.open.Load(); open != want {
			return fmt.Errorf("%d are open", open)
		}
		return nil
	})
}

const (
	notInstalled = "install the provider of this kind"
	notThere     = "does not exist yet"
	usable       = string(xpv1.ReasonAvailable)
)

// References to objects of other kinds, which may be installed later.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	// unwatched checks that definitions are not watched for objects that do not wait any more.
	unwatched := func(leave func(*street, *lodger)) func(*street) {
		return func(s *street) {
			s.controlLodgers()
			first, second := s.addLodger("first"), s.addLodger("second")
			s.sees(first, notInstalled)
			s.sees(second, notInstalled)
			s.watches(1)
			leave(s, first)
			if open := s.open.Load(); open != 1 {
				s.t.Errorf("another object waits, and %d watches are open", open)
			}
			leave(s, second)
			s.watches(0)
		}
	}
	for name, test := range map[string]func(*street){
		"first the lodger, then the kind, then the target, after many failures (R161, R167)": func(s *street) {
			s.controlLodgers(managed.WithBackoff(time.Hour, time.Hour))
			l := s.addLodger("lodger")
			s.sees(l, notInstalled)
			s.installHouses()
			s.sees(l, notThere)
			s.add("house", func(h *thing.Thing) { meta.SetExternalName(h, "house-1") })
			s.sees(l, usable)
			if got := reference.FromPtrValue(l.Spec.ForProvider.Neighbour); got != "house-1" {
				s.t.Errorf("it refers to %q", got)
			}
		},
		"controllers of two kinds, each on a manager of its own (R2)": func(s *street) {
			s.installHouses()
			s.controlLodgers()
			l := s.addLodger("lodger")
			s.sees(l, notThere)
			h := s.add("house", nil)
			s.sees(l, "has no external name yet")
			houses := runtime.NewScheme() // its controller knows nothing of lodgers
			addKind(s.t, houses, s.houses, &thing.Thing{}, &thing.ThingList{})
			control(s.t, s.env.Config, houses, &thing.Thing{}, s.label, managed.WithExternalConnecter(newShelf()))
			s.sees(h, usable)
			s.sees(l, usable)
			if got := reference.FromPtrValue(l.Spec.ForProvider.Neighbour); got == "" || got != meta.GetExternalName(h) {
				s.t.Errorf("the lodger has %q, the house is %q", got, meta.GetExternalName(h))
			}
			remove(s.t, s.env, l)
			remove(s.t, s.env, h)
		},
		"nothing is tried again until the kind is installed (R167, N13)": func(s *street) {
			var failures atomic.Int32
			s.controlLodgers(managed.WithBackoff(time.Millisecond, time.Millisecond), managed.WithRandom(func() float64 {
				failures.Add(1) // only what is tried again has a delay by chance
				return 0
			}))
			l := s.addLodger("lodger")
			s.sees(l, notInstalled)
			s.installHouses()
			s.sees(l, notThere)
			if n := failures.Load(); n > 0 {
				s.t.Errorf("it was tried again %d times", n)
			}
		},
		"the objects that waited are gone (R167)": unwatched(func(s *street, l *lodger) { remove(s.t, s.env, l) }),
		"the objects that waited refer to nothing (R167)": unwatched(func(s *street, l *lodger) {
			l.Spec.ForProvider.NeighbourRef = nil
			if err := s.env.Client.Update(s.t.Context(), l); err != nil {
				s.t.Fatal(err)
			}
			s.sees(l, usable)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newStreet(t))
		})
	}
}
