// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// give puts a resource of this object's into the system, under the object's name.
func (s *stage) give(r thing.Resource) {
	s.t.Helper()
	r.Owner = s.thing().UID
	s.system.Do(func(sys *thing.System) { sys.Resources[s.key.Name] = r })
}

// has returns the resource of the object's name.
func (s *stage) has() thing.Resource { return s.system.Snapshot()[s.key.Name] }

// countWrites replaces the reconciler by one whose writes to the API server are listed from now on.
func (s *stage) countWrites() *[]string {
	s.t.Helper()
	writes := &[]string{}
	s.restart(fault.InterceptWrites(s.env.Config, func(request string) (refuse, lose error) {
		*writes = append(*writes, request)
		return nil, nil
	}))
	return writes
}

// take returns what was written and told so far and forgets both.
func (s *stage) take(writes *[]string) (made []string, told []event.Reason) {
	made, *writes = *writes, nil
	return made, s.events.Take()
}

// during calls do at each call of a verb.
func (s *stage) during(verb string, do func()) {
	s.system.Do(func(sys *thing.System) {
		sys.Fault = func(called string) (error, error) {
			if called == verb {
				do()
			}
			return nil, nil
		}
	})
}

// The healthy life of an object.
func TestConformance(t *testing.T) {
	t.Parallel()
	l := &healthyLife{stage: newStage(t, nil)}
	l.writes = l.countWrites()
	l.during("Create", func() { l.atCreate = l.thing() })
	for _, moment := range []struct {
		name string
		test func(*healthyLife, *testing.T)
	}{
		{"a missing resource is created and looked at in the same pass (R18, R21, R22, R23, R44, R49)", (*healthyLife).created},
		{"what is stored when Create is called (R51, R52, R62, R63, R72, R73, R75, R76, R77)", (*healthyLife).beforeCreate},
		{"what is stored afterwards (R75, R79, R87)", (*healthyLife).afterCreate},
		{"what is written: the details first, the status last and once (R180, R184, R199, N14, R200, R217)", (*healthyLife).written},
		{"what is as declared is only looked at (R1, R18, R25, R220, N13)", (*healthyLife).settledDown},
		{"a change of whatever setting is an update and nothing else (R24, R45, R176)", (*healthyLife).changed},
		{"a status that is lost is reproduced (R30, R41, R43)", (*healthyLife).statusLost},
	} {
		t.Run(moment.name, func(t *testing.T) { moment.test(l, t) })
	}
}

// A healthyLife is that of one object, told in order.
type healthyLife struct {
	*stage
	writes   *[]string
	atCreate *thing.Thing // as stored when Create was called
}

func (s *healthyLife) wantCalls(t *testing.T, calls ...string) {
	t.Helper()
	if diff := cmp.Diff(calls, s.system.TakeCalls()); diff != "" {
		t.Errorf("calls -want +got:\n%s", diff)
	}
}

func (s *healthyLife) created(t *testing.T) {
	s.pass()
	s.wantCalls(t, "Connect", "Observe", "Create", "Observe")
}

func (s *healthyLife) beforeCreate(t *testing.T) {
	wantAnnotations := map[string]string{"crossplane.io/external-name": s.key.Name, "crossplane.io/external-create-pending": "2026-01-01T00:00:00Z"}
	if diff := cmp.Diff(wantAnnotations, s.atCreate.Annotations); diff != "" {
		t.Errorf("annotations -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"finalizer.managedresource.crossplane.io"}, s.atCreate.Finalizers); diff != "" {
		t.Errorf("finalizers -want +got:\n%s", diff)
	}
}

func (s *healthyLife) afterCreate(t *testing.T) {
	wantAnnotations := map[string]string{"crossplane.io/external-name": s.key.Name,
		"crossplane.io/external-create-pending": "2026-01-01T00:00:00Z", "crossplane.io/external-create-succeeded": "2026-01-01T00:00:00Z",
		connection.AnnotationKeyCreatedKeys: "endpoint,password"}
	if diff := cmp.Diff(wantAnnotations, s.thing().Annotations); diff != "" {
		t.Errorf("annotations -want +got:\n%s", diff)
	}
}

func (s *healthyLife) written(t *testing.T) {
	object := http.MethodPatch + " /apis/test.bowline.dev/v1/things/" + s.key.Name
	secrets := http.MethodPost + " /api/v1/namespaces/" + s.secret.Namespace + "/secrets"
	made, _ := s.take(s.writes)
	if diff := cmp.Diff([]string{object, secrets, object, object + "/status"}, made); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	ready, synced := s.thing().GetCondition(xpv1.TypeReady), s.thing().GetCondition(xpv1.TypeSynced)
	if ready.Status != "True" || ready.Reason != "Available" || synced.Status != "True" || synced.Reason != "ReconcileSuccess" {
		t.Errorf("%+v, %+v", ready, synced)
	}
}

func (s *healthyLife) settledDown(t *testing.T) {
	s.pass()
	s.wantCalls(t, "Connect", "Observe")
	if made, told := s.take(s.writes); len(made)+len(told) != 0 {
		t.Errorf("wrote %v, told %v", made, told)
	}
}

func (s *healthyLife) changed(t *testing.T) {
	s.edit(func(mg *thing.Thing) {
		mg.Spec.ForProvider = thing.Parameters{Size: 9, Zone: new("zone-b"), Tags: map[string]string{"a": "b"}, AccessToken: new("secret")}
	})
	s.pass()
	s.wantCalls(t, "Connect", "Observe", "Update", "Observe")
}

func (s *healthyLife) statusLost(t *testing.T) {
	before := s.thing()
	lost := before.DeepCopyObject().(*thing.Thing)
	lost.Status = thing.Status{}
	if err := s.env.Client.Status().Update(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	s.restart(s.env.Config)
	s.pass()
	s.wantCalls(t, "Connect", "Observe")
	ignoreTimes := cmp.Comparer(func(a, b metav1.Time) bool { return true })
	byType := cmp.Transformer("byType", func(all []xpv1.Condition) map[xpv1.ConditionType]xpv1.Condition {
		m := map[xpv1.ConditionType]xpv1.Condition{}
		for _, c := range all {
			m[c.Type] = c
		}
		return m
	})
	if diff := cmp.Diff(before.Status, s.thing().Status, ignoreTimes, byType); diff != "" {
		t.Errorf("status -before +after:\n%s", diff)
	}
}

func TestDeletionOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*stage){
		"it never existed (R59, R61)":         func(*stage) {},
		"its creation failed (R59, R61)":      func(s *stage) { s.failOnce("Create", errors.New("no room left"), nil); s.pass() },
		"it was removed outside (R54, R61)":   func(s *stage) { s.pass(); s.system.Do(func(sys *thing.System) { clear(sys.Resources) }) },
		"it goes while we ask (R38, R54)":     func(s *stage) { s.pass(); s.during("Delete", func() { clear(s.system.Resources) }) },
		"creation was turned away (R59, R95)": func(s *stage) { s.failOnce("Create", busy{}, nil); s.pass() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) { mg.Finalizers = []string{managed.Finalizer} })
			prepare(s)
			gone := len(s.system.Snapshot()) == 0
			s.system.TakeCalls()
			s.delete()
			s.pass()
			if got := s.state(); got != "gone" {
				t.Errorf("the user sees %s", got)
			}
			if calls := s.system.TakeCalls(); gone && !cmp.Equal(calls, []string{"Connect", "Observe"}) {
				t.Errorf("called %v", calls)
			}
		})
	}
}

// Under which name the external resource is made and looked up.
func TestExternalName(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		given   string
		vendor  bool
		exists  bool
		calls   []string
		pending string // the annotation while Create runs
		want    string
	}{
		"the object's name by default (R63, R73)": {calls: []string{"Connect", "Observe", "Create", "Observe"}, pending: "NAME", want: "NAME"},
		"a name that was given (R64, R67, R68)": {given: "custom", calls: []string{"Connect", "Observe", "Create", "Observe"},
			pending: "custom", want: "custom"},
		"a name that was given, of what exists (R64, R68, R70, N6)": {given: "custom", exists: true, calls: []string{"Connect", "Observe", "Update", "Observe"}, want: "custom"},
		"the vendor's (R65, R66, R69, R71, R72)":                    {vendor: true, calls: []string{"Connect", "Create", "Observe"}, want: "vendor-1"},
		"the vendor's, given (R64, R70, R71)": {vendor: true, given: "vendor-7", exists: true,
			calls: []string{"Connect", "Observe", "Update", "Observe"}, want: "vendor-7"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o []managed.ReconcilerOption
			if tc.vendor {
				o = append(o, managed.WithVendorNames())
			}
			s := newStage(t, func(mg *thing.Thing) {
				mg.Annotations = map[string]string{meta.AnnotationKeyExternalName: tc.given}
			}, o...)
			s.system.VendorNames = tc.vendor
			if tc.exists {
				s.system.Resources[tc.given] = thing.Resource{Size: 7}
			}
			shown := ""
			s.during("Create", func() { shown = meta.GetExternalName(s.thing()) })
			s.pass()
			if diff := cmp.Diff(tc.calls, s.system.TakeCalls()); diff != "" {
				t.Errorf("calls -want +got:\n%s", diff)
			}
			actual := func(name string) string { return strings.ReplaceAll(name, "NAME", s.key.Name) }
			if shown != actual(tc.pending) || meta.GetExternalName(s.thing()) != actual(tc.want) {
				t.Errorf("external name %q, later %q", shown, meta.GetExternalName(s.thing()))
			}
			if have, ok := s.system.Snapshot()[actual(tc.want)]; !ok || have.Size != 1 || len(s.system.Snapshot()) != 1 {
				t.Errorf("resources %+v", s.system.Snapshot())
			}
			s.delete()
			s.pass()
			if have := s.system.Snapshot(); len(have) != 0 {
				t.Errorf("deletion should use the name, resources %+v (R67)", have)
			}
		})
	}
}

// What is known only after Create is kept whatever fails then.
func TestAfterCreate(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "thing", errors.New("somebody wrote"))
	cases := map[string]struct {
		refused string // requests of this kind, after Create
		times   int
		err     error
	}{
		"the details cannot be stored (R74)":              {refused: "POST", times: 100, err: errors.New("no")},
		"the status cannot be written (R74, R217)":        {refused: "/status", times: 100, err: errors.New("no")},
		"the success meets a conflict (R74, R79, R93)":    {refused: "PATCH", times: 2, err: conflict},
		"the API server is away a moment (R74, R79, R93)": {refused: "PATCH", times: 3, err: apierrors.NewServiceUnavailable("starting")},
		"the details meet a moment's outage (R93, R217)":  {refused: "POST", times: 3, err: apierrors.NewServiceUnavailable("starting")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, managed.WithVendorNames())
			s.system.VendorNames = true
			s.restart(fault.InterceptWrites(s.env.Config, func(request string) (refuse, lose error) {
				if s.system.Called("Create") == 0 || tc.times == 0 || !strings.HasPrefix(request, tc.refused) && !strings.HasSuffix(request, tc.refused) {
					return nil, nil
				}
				tc.times--
				return tc.err, nil
			}))
			_, _ = s.tryPass()
			if got := meta.GetExternalName(s.thing()); got != "vendor-1" || meta.ExternalCreateIncomplete(s.thing()) {
				t.Errorf("external name %q, annotations %v", got, s.thing().Annotations)
			}
			tc.times = 0
			_, _ = s.tryPass()
			if got := s.connection()["password"]; got != "password-1" || len(s.system.Snapshot()) != 1 {
				t.Errorf("the secret holds password %q, resources %v", got, s.system.Snapshot())
			}
		})
	}
}
