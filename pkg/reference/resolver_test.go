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
	t.Cleanup(func() {
		unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		_ = s.Client.Patch(context.Background(), o.DeepCopyObject().(client.Object), unhold)
		_ = s.Client.Delete(context.Background(), o)
	})
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

func labelled(key, value string) func(*Network) {
	return func(n *Network) { n.Labels[key] = value }
}

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
	given objects
	ask   func(s stage) request
	want  result
}

func runResolutions(t *testing.T, cases map[string]resolution) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, tc.given...)
			if diff := cmp.Diff(tc.want, s.resolve(t, tc.ask(s))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Value before reference before selector, unless the policy is Always.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	runResolutions(t, map[string]resolution{
		"no reference, no value (R158)": {
			ask: func(stage) request { return request{} },
		},
		"value wins over reference and selector (R160, R168)": {
			given: objects{network("a")},
			ask: func(s stage) request {
				return request{CurrentValue: "mine", Reference: s.ref("a", nil), Selector: s.sel(nil)}
			},
			want: result{Value: "mine", Ref: "a"},
		},
		"by name (R161)": {
			given: objects{network("a"), network("b")},
			ask:   func(s stage) request { return request{Reference: s.ref("b", nil)} },
			want:  result{Value: "ext-b", Ref: "b"},
		},
		"reference wins over selector (R168)": {
			given: objects{network("a"), network("b")},
			ask:   func(s stage) request { return request{Reference: s.ref("b", nil), Selector: s.sel(nil)} },
			want:  result{Value: "ext-b", Ref: "b"},
		},
		"Always follows the reference (R168)": {
			given: objects{network("a")},
			ask:   func(s stage) request { return request{CurrentValue: "old", Reference: s.ref("a", always)} },
			want:  result{Value: "ext-a", Ref: "a"},
		},
		"Always chooses anew (R168)": {
			given: objects{network("a")},
			ask: func(s stage) request {
				return request{CurrentValue: "old", Reference: s.ref("z", nil), Selector: s.sel(always)}
			},
			want: result{Value: "ext-a", Ref: "a"},
		},
		"a value outlives its target (R168)": {
			given: objects{network("a", leaving)},
			ask:   func(s stage) request { return request{CurrentValue: "ext-a", Reference: s.ref("a", always)} },
			want:  result{Value: "ext-a", Ref: "a"},
		},
		"a value outlives its selected target (R168)": {
			given: objects{network("a", leaving)},
			ask: func(s stage) request {
				return request{CurrentValue: "ext-a", Reference: s.ref("a", nil), Selector: s.sel(always)}
			},
			want: result{Value: "ext-a", Ref: "a"},
		},
	})
}

// What a selector chooses.
func TestSelection(t *testing.T) {
	t.Parallel()
	runResolutions(t, map[string]resolution{
		"by labels (R162, R165)": {
			given: objects{network("b"), network("a", labelled("app", "other"))},
			ask:   func(s stage) request { return request{Selector: s.sel(nil)} },
			want:  result{Value: "ext-b", Ref: "b"},
		},
		"by controller (R163)": {
			given: objects{network("a"), network("b", owned("owner")), network("c", owned("another"))},
			ask: func(s stage) request {
				return request{Selector: &xpv1.Selector{MatchControllerRef: ptr(true), MatchLabels: s.sel(nil).MatchLabels}}
			},
			want: result{Value: "ext-b", Ref: "b"},
		},
		"labels and controller (R164)": {
			given: objects{network("a", owned("another")), network("b", labelled("app", "other"), owned("owner"))},
			ask: func(s stage) request {
				return request{Selector: &xpv1.Selector{MatchLabels: s.sel(nil).MatchLabels, MatchControllerRef: ptr(true)}}
			},
			want: result{Err: "no Network matches labels app=app and has the same controller"},
		},
		"waits for the choice (R169)": {
			given: objects{network("a", pending)},
			ask:   func(s stage) request { return request{Selector: s.sel(nil)} },
			want:  result{Err: `Network "a" has no external name yet: it is still being created`},
		},
		"what is being deleted is not chosen (R169)": {
			given: objects{network("a", leaving), network("b")},
			ask:   func(s stage) request { return request{Selector: s.sel(nil)} },
			want:  result{Value: "ext-b", Ref: "b"},
		},
	})
}

// What a reference waits for, and who does without.
func TestWaiting(t *testing.T) {
	t.Parallel()
	runResolutions(t, map[string]resolution{
		"missing (R167)": {
			ask: func(s stage) request {
				return request{Reference: s.ref("net-a", nil), FieldPath: "spec.forProvider.networkId"}
			},
			want: result{Ref: "net-a", Err: `spec.forProvider.networkId: Network "net-a" does not exist yet`},
		},
		"no match (R167)": {
			ask:  func(s stage) request { return request{Selector: s.sel(nil), FieldPath: "f"} },
			want: result{Err: "f: no Network matches labels app=app"},
		},
		"unnamed (R167)": {
			given: objects{network("a", unnamed)},
			ask:   func(s stage) request { return request{Reference: s.ref("a", nil)} },
			want:  result{Ref: "a", Err: `Network "a" has no external name yet: it is still being created`},
		},
		"name defaulted, creation pending (N36)": {
			given: objects{network("a", pending)},
			ask:   func(s stage) request { return request{Reference: s.ref("a", nil)} },
			want:  result{Ref: "a", Err: `Network "a" has no external name yet: it is still being created`},
		},
		"name defaulted, creation failed (N36)": {
			given: objects{network("a", pending, failed)},
			ask:   func(s stage) request { return request{Reference: s.ref("a", nil)} },
			want:  result{Ref: "a", Err: `Network "a" has no external name yet: its creation failed, see its conditions`},
		},
		"created (N36)": {
			given: objects{network("a", pending, created)},
			ask:   func(s stage) request { return request{Reference: s.ref("a", nil)} },
			want:  result{Value: "ext-a", Ref: "a"},
		},
		"gone outside, created again in vain (N36)": {
			given: objects{network("a", pending, created, again, againNot)},
			ask:   func(s stage) request { return request{Reference: s.ref("a", nil)} },
			want:  result{Ref: "a", Err: `Network "a" has no external name yet: its creation failed, see its conditions`},
		},
		"being deleted (R167)": {
			given: objects{network("a", leaving)},
			ask:   func(s stage) request { return request{Reference: s.ref("a", nil)} },
			want:  result{Ref: "a", Err: `Network "a" is being deleted: refer to another object, or create it again after the deletion`},
		},
		"all matches are being deleted (R167)": {
			given: objects{network("a", leaving)},
			ask:   func(s stage) request { return request{Selector: s.sel(nil)} },
			want:  result{Err: "no Network matches labels app=app, except objects that are being deleted"},
		},
		"optional reference (R167)": {
			ask:  func(s stage) request { return request{Reference: s.ref("a", optional)} },
			want: result{Ref: "a"},
		},
		"optional selector (R167)": {
			ask: func(s stage) request { return request{Selector: s.sel(optional)} },
		},
		"choice of an optional selector (R167)": {
			ask:  func(s stage) request { return request{Reference: s.ref("a", nil), Selector: s.sel(optional)} },
			want: result{Ref: "a"},
		},
		"optional keeps a value that it cannot follow (R167)": {
			ask:  func(s stage) request { return request{CurrentValue: "old", Reference: s.ref("a", both)} },
			want: result{Value: "old", Ref: "a"},
		},
	})
}

// The API server tells ages in seconds, so two of one age may take more than one attempt.
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

// Names would choose a, age chooses b. The API server tells ages in seconds.
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
