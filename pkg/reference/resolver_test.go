// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, crds()...)) }

var (
	always   = &xpv1.Policy{Resolve: ptr(xpv1.ResolvePolicyAlways)}
	optional = &xpv1.Policy{Resolution: ptr(xpv1.ResolutionPolicyOptional)}
	both     = &xpv1.Policy{Resolve: ptr(xpv1.ResolvePolicyAlways), Resolution: ptr(xpv1.ResolutionPolicyOptional)}
)

func ptr[T any](v T) *T { return &v }

// A stage is one test's share of the server. Names and label values are prefixed with p, so that tests do not meet.
type stage struct {
	*controlplanetest.Env
	p string
}

func newStage(t *testing.T, objs ...func(p string) client.Object) stage {
	t.Helper()
	env := controlplanetest.NewWithScheme(t, scheme())
	s := stage{Env: env, p: env.Prefix}
	for _, make := range objs {
		s.add(t, make(s.p))
	}
	return s
}

func (s stage) add(t *testing.T, o client.Object) {
	t.Helper()
	leaves := len(o.GetFinalizers()) > 0
	if err := s.Client.Create(t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = testkit.Remove(context.Background(), s.Client, o.DeepCopyObject().(client.Object)) })
	if leaves {
		if err := s.Client.Delete(t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
			t.Fatal(err)
		}
	}
}

// network makes a usable Network with label app and the external name ext-<name>, changed by the others.
func network(name string, change ...func(*Network)) func(p string) client.Object {
	return func(p string) client.Object {
		n := &Network{ObjectMeta: metav1.ObjectMeta{Name: p + name, Labels: map[string]string{"app": p + "app"}}}
		meta.SetExternalName(n, "ext-"+name)
		for _, c := range change {
			c(n)
		}
		return n
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func unnamed(n *Network)  { n.Annotations = nil }
func pending(n *Network)  { meta.SetExternalCreatePending(n, noon) }
func failed(n *Network)   { meta.SetExternalCreateFailed(n, noon) }
func created(n *Network)  { meta.SetExternalCreateSucceeded(n, noon) }
func leaving(n *Network)  { n.Finalizers = []string{"test.bowline.dev/held"} }
func again(n *Network)    { meta.SetExternalCreatePending(n, noon.Add(time.Hour)) }
func againNot(n *Network) { meta.SetExternalCreateFailed(n, noon.Add(time.Hour)) }

func owned(uid types.UID) func(*Network) {
	return func(n *Network) {
		n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Thing", Name: "owner", UID: uid, Controller: ptr(true)}}
	}
}

func labelled(key, value string) func(*Network) { return func(n *Network) { n.Labels[key] = value } }

func (s stage) ref(name string, p *xpv1.Policy) *xpv1.Reference {
	return &xpv1.Reference{Name: s.p + name, Policy: p}
}

func (s stage) sel(p *xpv1.Policy) *xpv1.Selector {
	return &xpv1.Selector{MatchLabels: map[string]string{"app": s.p + "app"}, Policy: p}
}

type objects = []func(p string) client.Object

// A result is what resolution came to; names in it are without the stage's prefix.
type result struct {
	Value, Ref string
	Err        string // part of the message
}

func (s stage) resolve(t *testing.T, req reference.ResolutionRequest) result {
	t.Helper()
	req.To = reference.To{Managed: &Network{}, List: &NetworkList{}}
	from := &Network{ObjectMeta: metav1.ObjectMeta{Name: "from"}}
	owned("owner")(from)
	rsp, err := reference.NewAPIResolver(s.Client, from).Resolve(t.Context(), req)
	r := result{Value: rsp.ResolvedValue}
	if rsp.ResolvedReference != nil {
		r.Ref = strings.TrimPrefix(rsp.ResolvedReference.Name, s.p)
	}
	if err != nil {
		r.Err = strings.ReplaceAll(err.Error(), s.p, "")
		if !reference.IsUnresolved(err) {
			t.Errorf("error %v is not one to wait after", err)
		}
	}
	return r
}

type request = reference.ResolutionRequest

// A resolution asks for one field where the given objects exist.
type resolution struct {
	given             objects
	value, ref        string       // current value, and name of the reference
	policy            *xpv1.Policy // of the reference
	selects, siblings bool         // by label app, and by controller
	sel               *xpv1.Policy // of the selector
	path              string
	want              result
}

func runResolutions(t *testing.T, cases map[string]resolution) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, tc.given...)
			req := request{CurrentValue: tc.value, FieldPath: tc.path}
			if tc.ref != "" {
				req.Reference = s.ref(tc.ref, tc.policy)
			}
			if tc.selects {
				req.Selector = s.sel(tc.sel)
			}
			if tc.siblings {
				req.Selector.MatchControllerRef = ptr(true)
			}
			if diff := cmp.Diff(tc.want, s.resolve(t, req)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Value before reference before selector, unless the policy is Always.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	runResolutions(t, map[string]resolution{
		"no reference, no value (R158)": {},
		"value wins over reference and selector (R160, R168)": {
			given: objects{network("a")}, value: "mine", ref: "a", selects: true,
			want: result{Value: "mine", Ref: "a"},
		},
		"by name (R161)": {given: objects{network("a"), network("b")}, ref: "b", want: result{Value: "ext-b", Ref: "b"}},
		"reference wins over selector (R168)": {given: objects{network("a"), network("b")}, ref: "b", selects: true,
			want: result{Value: "ext-b", Ref: "b"}},
		"Always follows the reference (R168)": {given: objects{network("a")}, value: "old", ref: "a", policy: always,
			want: result{Value: "ext-a", Ref: "a"}},
		"Always chooses anew (R168)": {given: objects{network("a")}, value: "old", ref: "z", selects: true, sel: always,
			want: result{Value: "ext-a", Ref: "a"}},
		"a value outlives its target (R168)": {given: objects{network("a", leaving)}, value: "ext-a", ref: "a", policy: always,
			want: result{Value: "ext-a", Ref: "a"}},
		"a value outlives its selected target (R168)": {
			given: objects{network("a", leaving)}, value: "ext-a", ref: "a", selects: true, sel: always,
			want: result{Value: "ext-a", Ref: "a"},
		},
	})
}

// What a selector chooses.
func TestSelection(t *testing.T) {
	t.Parallel()
	runResolutions(t, map[string]resolution{
		"by labels (R162, R165)": {given: objects{network("b"), network("a", labelled("app", "other"))}, selects: true,
			want: result{Value: "ext-b", Ref: "b"}},
		"by controller (R163)": {
			given: objects{network("a"), network("b", owned("owner")), network("c", owned("another"))}, selects: true, siblings: true,
			want: result{Value: "ext-b", Ref: "b"},
		},
		"labels and controller (R164)": {
			given:   objects{network("a", owned("another")), network("b", labelled("app", "other"), owned("owner"))},
			selects: true, siblings: true,
			want: result{Err: "no Network matches labels app=app and has the same controller"},
		},
		"waits for the choice (R169)": {given: objects{network("a", pending)}, selects: true,
			want: result{Err: `Network "a" has no external name yet: it is still being created`}},
		"what is being deleted is not chosen (R169)": {given: objects{network("a", leaving), network("b")}, selects: true,
			want: result{Value: "ext-b", Ref: "b"}},
	})
}

// What a reference waits for, and what needs none.
func TestWaiting(t *testing.T) {
	t.Parallel()
	runResolutions(t, map[string]resolution{
		"missing (R167)": {ref: "net-a", path: "spec.forProvider.networkId",
			want: result{Ref: "net-a", Err: `spec.forProvider.networkId: Network "net-a" does not exist yet`}},
		"no match (R167)": {selects: true, path: "f", want: result{Err: "f: no Network matches labels app=app"}},
		"unnamed (R167)": {given: objects{network("a", unnamed)}, ref: "a",
			want: result{Ref: "a", Err: `Network "a" has no external name yet: it is still being created`}},
		"name defaulted, creation pending (N36)": {given: objects{network("a", pending)}, ref: "a",
			want: result{Ref: "a", Err: `Network "a" has no external name yet: it is still being created`}},
		"name defaulted, creation failed (N36)": {given: objects{network("a", pending, failed)}, ref: "a",
			want: result{Ref: "a", Err: `Network "a" has no external name yet: its creation failed, see its conditions`}},
		"created (N36)": {given: objects{network("a", pending, created)}, ref: "a", want: result{Value: "ext-a", Ref: "a"}},
		"gone outside, created again in vain (N36)": {given: objects{network("a", pending, created, again, againNot)}, ref: "a",
			want: result{Ref: "a", Err: `Network "a" has no external name yet: its creation failed, see its conditions`}},
		"being deleted (R167)": {given: objects{network("a", leaving)}, ref: "a",
			want: result{Ref: "a", Err: `Network "a" is being deleted: refer to another object, or create it again after the deletion`}},
		"all matches are being deleted (R167)": {given: objects{network("a", leaving)}, selects: true,
			want: result{Err: "no Network matches labels app=app, except objects that are being deleted"}},
		"optional reference (R167)":             {ref: "a", policy: optional, want: result{Ref: "a"}},
		"optional selector (R167)":              {selects: true, sel: optional},
		"choice of an optional selector (R167)": {ref: "a", selects: true, sel: optional, want: result{Ref: "a"}},
		"optional keeps a value that it cannot follow (R167)": {value: "old", ref: "a", policy: both,
			want: result{Value: "old", Ref: "a"}},
	})
}

// The API server returns ages in seconds, so two of one age may take more than one attempt.
func TestSameAge(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	age := func(name string) time.Time {
		o := network(name)(s.p)
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Client.Delete(context.Background(), o) })
		return o.GetCreationTimestamp().Time
	}
	for !age("b").Equal(age("a")) {
		for _, name := range []string{"a", "b"} {
			if err := s.Client.Delete(t.Context(), network(name)(s.p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := result{Value: "ext-a", Ref: "a"}
	if diff := cmp.Diff(want, s.resolve(t, reference.ResolutionRequest{Selector: s.sel(nil)})); diff != "" {
		t.Errorf("of two of one age the first by name is chosen (R169): -want +got:\n%s", diff)
	}
}

// Names would choose a, age chooses b. The API server returns ages in seconds.
func TestOldest(t *testing.T) {
	t.Parallel()
	s := newStage(t, network("b"))
	<-time.After(1100 * time.Millisecond)
	s.add(t, network("a")(s.p))
	want := result{Value: "ext-b", Ref: "b"}
	if diff := cmp.Diff(want, s.resolve(t, reference.ResolutionRequest{Selector: s.sel(nil)})); diff != "" {
		t.Errorf("the oldest is chosen (R169): -want +got:\n%s", diff)
	}
}

// A listing asks for a field that is a list where the given objects exist.
type listing struct {
	given        objects
	values, refs []string     // current values, and names of the references
	policy       *xpv1.Policy // of each reference
	selects      bool
	sel          *xpv1.Policy // of the selector
	want         results
}

// results are what the resolution of a list came to; names in it are without the stage's prefix.
type results struct {
	Values, Refs []string
	Err          string
}

func TestResolveMultiple(t *testing.T) {
	t.Parallel()
	runListings(t, map[string]listing{
		"in the order of the references (R170)": {given: objects{network("a"), network("b")}, refs: []string{"b", "a"},
			want: results{Values: []string{"ext-b", "ext-a"}, Refs: []string{"b", "a"}}},
		"every match, by name (R170)": {given: objects{network("b"), network("a"), network("0", leaving)}, selects: true,
			want: results{Values: []string{"ext-a", "ext-b"}, Refs: []string{"a", "b"}}},
		"one is missing (R167, R170)": {given: objects{network("a")}, refs: []string{"a", "b"},
			want: results{Refs: []string{"a", "b"}, Err: `Network "b" does not exist yet`}},
		"one that is optional is missing (R167, R170)": {given: objects{network("b")}, refs: []string{"a", "b"}, policy: optional,
			want: results{Values: []string{"ext-b"}, Refs: []string{"a", "b"}}},
		"waits for every match (R167, R170)": {given: objects{network("a"), network("b", pending)}, selects: true,
			want: results{Err: `Network "b" has no external name yet: it is still being created`}},
	})
}

// What is chosen once stays, unless the policy is Always.
func TestResolveMultipleAgain(t *testing.T) {
	t.Parallel()
	runListings(t, map[string]listing{
		"values are kept (R168, R170)": {
			given: objects{network("a")}, values: []string{"mine"}, refs: []string{"a"}, selects: true,
			want: results{Values: []string{"mine"}, Refs: []string{"a"}},
		},
		"Always takes in new matches (R168, R170)": {
			given: objects{network("a"), network("b")}, values: []string{"ext-a"}, refs: []string{"a"}, selects: true, sel: always,
			want: results{Values: []string{"ext-a", "ext-b"}, Refs: []string{"a", "b"}},
		},
		"a later match is not taken in without Always (R168, R170)": {
			given: objects{network("a"), network("b")}, values: []string{"ext-a"}, refs: []string{"a"}, selects: true,
			want: results{Values: []string{"ext-a"}, Refs: []string{"a"}},
		},
		"Always leaves out what no longer matches (R168, R170)": {
			given:  objects{network("a"), network("b", labelled("app", "other")), network("c", leaving)},
			values: []string{"ext-a", "ext-b", "ext-c"}, refs: []string{"a", "b", "c"}, selects: true, sel: always,
			want: results{Values: []string{"ext-a"}, Refs: []string{"a"}},
		},
		"Always follows each reference (R168, R170)": {
			given: objects{network("a"), network("b")}, values: []string{"old-a", "old-b"}, refs: []string{"a", "b"}, policy: always,
			want: results{Values: []string{"ext-a", "ext-b"}, Refs: []string{"a", "b"}},
		},
	})
}

func runListings(t *testing.T, cases map[string]listing) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, tc.given...)
			req := reference.MultiResolutionRequest{CurrentValues: tc.values, To: toNetwork}
			for _, name := range tc.refs {
				req.References = append(req.References, *s.ref(name, tc.policy))
			}
			if tc.selects {
				req.Selector = s.sel(tc.sel)
			}
			rsp, err := reference.NewAPIResolver(s.Client, &Network{}).ResolveMultiple(t.Context(), req)
			got := results{Values: rsp.ResolvedValues}
			for _, ref := range rsp.ResolvedReferences {
				got.Refs = append(got.Refs, strings.TrimPrefix(ref.Name, s.p))
			}
			if err != nil {
				got.Err = strings.ReplaceAll(err.Error(), s.p, "")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
