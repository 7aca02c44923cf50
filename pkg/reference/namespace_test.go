// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
)

var (
	toNetwork = reference.To{Managed: &Network{}, List: &NetworkList{}}
	toRoom    = reference.To{Managed: &Room{}, List: &RoomList{}}
)

// A place is a stage with Rooms of one name in two namespaces, home and away, and a Network of that name.
type place struct {
	stage
	home, away string
}

func newPlace(t *testing.T) place {
	t.Helper()
	s := newStage(t)
	p := place{stage: s, home: s.Namespace, away: s.Namespace + "-away"}
	s.add(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.away}})
	s.add(t, room(p.home, "x", "home-x"))
	s.add(t, room(p.away, "x", "away-x"))
	s.add(t, room(p.away, "y", "away-y"))
	n := &Network{ObjectMeta: metav1.ObjectMeta{Name: s.p + "x", Labels: map[string]string{"app": s.p + "app"}}}
	meta.SetExternalName(n, "net-x")
	s.add(t, n)
	return p
}

func room(namespace, name, external string) *Room {
	r := &Room{}
	r.Name, r.Namespace = name, namespace
	meta.SetExternalName(r, external)
	return r
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	type request = reference.NamespacedResolutionRequest
	p := newPlace(t)
	type (
		named    = xpv1.NamespacedReference
		selected = xpv1.NamespacedSelector
	)
	cases := map[string]struct {
		from string // namespace of the referring object
		req  request
		want result
	}{
		"same namespace by default (R172)": {from: p.home, req: request{To: toRoom, Reference: &named{Name: "x"}},
			want: result{Value: "home-x", Ref: "/x"}},
		"named namespace (R172)": {from: p.home, req: request{To: toRoom, Reference: &named{Name: "x", Namespace: p.away}},
			want: result{Value: "away-x", Ref: "AWAY/x"}},
		"namespace of the request (R172)": {
			from: p.home, req: request{To: toRoom, Namespace: p.away, Reference: &named{Name: "x"}},
			want: result{Value: "away-x", Ref: "/x"},
		},
		"an empty selector matches all of the same namespace (R162, R172)": {
			from: p.home, req: request{To: toRoom, Selector: &selected{}},
			want: result{Value: "home-x", Ref: "/x"},
		},
		"a choice elsewhere names the place (R165, R172)": {
			from: p.home, req: request{To: toRoom, Selector: &selected{Namespace: p.away}},
			want: result{Value: "away-x", Ref: "AWAY/x"},
		},
		"a cluster-scoped object names a namespace (R172)": {
			req:  request{To: toRoom, Reference: &named{Name: "x", Namespace: p.home}},
			want: result{Value: "home-x", Ref: "HOME/x"},
		},
		"a cluster-scoped object has to name a namespace (R172)": {req: request{To: toRoom, Reference: &named{Name: "x"}},
			want: result{Ref: "/x", Err: `Room "x" needs a namespace: set it in the reference`}},
		"a cluster-scoped object does not select everywhere (R172)": {req: request{To: toRoom, Selector: &selected{}},
			want: result{Err: "no Room can be selected without a namespace: set it in the selector"}},
		"a cluster-scoped target has no namespace (R172)": {
			from: p.home, req: request{To: toNetwork, Reference: &named{Name: p.p + "x", Namespace: p.away}},
			want: result{Value: "net-x", Ref: "AWAY/HOME-x"},
		},
		"a cluster-scoped target is selected from a namespace (R172)": {
			from: p.home, req: request{To: toNetwork, Selector: &selected{MatchLabels: p.sel(nil).MatchLabels}},
			want: result{Value: "net-x", Ref: "/HOME-x"},
		},
		"missing in a namespace (R167)": {from: p.home, req: request{To: toRoom, Reference: &named{Name: "y"}},
			want: result{Ref: "/y", Err: `Room "y" in namespace "HOME" does not exist yet`}},
	}
	readable := strings.NewReplacer(p.away, "AWAY", p.home, "HOME")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			from := room(tc.from, "from", "")
			rsp, err := reference.NewAPINamespacedResolver(p.Client, from).Resolve(t.Context(), tc.req)
			got := result{Value: rsp.ResolvedValue}
			if ref := rsp.ResolvedReference; ref != nil {
				got.Ref = readable.Replace(ref.Namespace + "/" + ref.Name)
			}
			if err != nil {
				got.Err = readable.Replace(err.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSelectsOthersOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	from := &Room{}
	if err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.home, Name: "x"}, from); err != nil {
		t.Fatal(err)
	}
	req := reference.ResolutionRequest{To: toRoom, Selector: &xpv1.Selector{}}
	_, err := reference.NewAPIResolver(p.Client, from).Resolve(t.Context(), req)
	if !reference.IsUnresolved(err) {
		t.Errorf("an object selected itself, or failed otherwise: %v (R162)", err)
	}
}

// What no event can heal must not look like a wait.
func TestPlainErrors(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx context.Context
		req request
	}{
		"unreachable server (R167)":    {ended, request{To: toNetwork, Reference: s.ref("a", optional)}},
		"unreachable selection (R167)": {ended, request{To: toNetwork, Selector: s.sel(optional)}},
		"no kind (R167)":               {t.Context(), request{Reference: s.ref("a", optional)}},
		"no list (R167)":               {t.Context(), request{To: reference.To{Managed: &Network{}}, Selector: s.sel(optional)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reference.NewAPIResolver(s.Client, &Network{}).Resolve(tc.ctx, tc.req)
			if err == nil || reference.IsUnresolved(err) {
				t.Errorf("got error %v, want one that is not to be waited after", err)
			}
		})
	}
}

// Resolvers of other providers leave the kind out where nothing is asked.
func TestNothingAsked(t *testing.T) {
	t.Parallel()
	got, err := reference.NewAPIResolver(nil, &Network{}).Resolve(t.Context(), request{CurrentValue: "a"})
	if err != nil || got.ResolvedValue != "a" {
		t.Errorf("got %+v and error %v", got, err)
	}
}

func TestFieldPath(t *testing.T) {
	t.Parallel()
	n := &Network{Status: Status{AtProvider: Observation{ARN: "arn:net", Ports: 3}}}
	n.Labels = map[string]string{"example.org/team": "a"}
	n.Finalizers = []string{"first", "second"}
	for path, want := range map[string]string{
		"status.atProvider.arn":             "arn:net",
		"status.atProvider.ports":           "3",
		"status.atProvider":                 "",
		"status.atProvider.none":            "",
		"metadata.labels[example.org/team]": "a",
		"metadata.labels.example.org/team":  "",
		"metadata.finalizers[1]":            "second",
		"metadata.finalizers[2]":            "",
		"metadata.finalizers[-1]":           "",
		"metadata.finalizers[first]":        "",
		"metadata.name.first":               "",
		"":                                  "",
	} {
		if got := reference.FieldPath(path)(n); got != want {
			t.Errorf("%s is %q, want %q (R161)", path, got, want)
		}
	}
	s := newStage(t, network("a"))
	req := reference.ResolutionRequest{Reference: s.ref("a", nil), Extract: reference.FieldPath("status.atProvider.arn")}
	want := result{Ref: "a", Err: `Network "a" does not have the value of this field yet`}
	if diff := cmp.Diff(want, s.resolve(t, req)); diff != "" {
		t.Errorf("a value that the target does not have yet (R167): -want +got:\n%s", diff)
	}
}

// The form that code generators of the ecosystem write, through a whole life.
func TestGenerated(t *testing.T) {
	t.Parallel()
	s := newStage(t, network("a"), network("b"))
	n := &Network{}
	n.Spec.ForProvider.ParentIDRef = s.ref("b", nil)
	n.Spec.ForProvider.PeerIDsSelector = s.sel(nil)
	var _ resource.ReferenceResolver = n
	for range 2 { // the second time nothing changes
		if err := n.ResolveReferences(t.Context(), s.Client); err != nil {
			t.Fatal(err)
		}
		want := Parameters{
			ParentID: ptr("ext-b"), ParentIDRef: s.ref("b", nil),
			PeerIDs:         []*string{ptr("ext-a"), ptr("ext-b")},
			PeerIDRefs:      []xpv1.Reference{*s.ref("a", nil), *s.ref("b", nil)},
			PeerIDsSelector: s.sel(nil),
		}
		if diff := cmp.Diff(want, n.Spec.ForProvider); diff != "" {
			t.Errorf("the spec holds what was resolved (R165, R168): -want +got:\n%s", diff)
		}
	}
	empty := &Network{}
	if err := empty.ResolveReferences(t.Context(), s.Client); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Parameters{}, empty.Spec.ForProvider); diff != "" {
		t.Errorf("nothing is made of nothing (R158): -want +got:\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		got  error
		want bool
	}{
		"value (R166)":       {got: reference.ResolutionResponse{ResolvedValue: "a"}.Validate(), want: true},
		"no value (R166)":    {got: reference.ResolutionResponse{}.Validate()},
		"values (R166)":      {got: reference.MultiResolutionResponse{ResolvedValues: []string{"a"}}.Validate(), want: true},
		"no values (R166)":   {got: reference.MultiResolutionResponse{}.Validate()},
		"empty value (R166)": {got: reference.MultiResolutionResponse{ResolvedValues: []string{"a", ""}}.Validate()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if (tc.got == nil) != tc.want {
				t.Errorf("got %v", tc.got)
			}
		})
	}
}
