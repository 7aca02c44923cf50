// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reference"
)

type lists = reference.MultiResolutionRequest

// A listing asks for a field that is a list where the given objects exist.
type listing struct {
	given objects
	ask   func(s stage) lists
	want  results
}

// results are what the resolution of a list came to; names in it are without the stage's prefix.
type results struct {
	Values, Refs []string
	Err          string
}

func refs(s stage, p *xpv1.Policy, names ...string) (all []xpv1.Reference) {
	for _, name := range names {
		all = append(all, *s.ref(name, p))
	}
	return all
}

func TestResolveMultiple(t *testing.T) {
	t.Parallel()
	runListings(t, map[string]listing{
		"in the order of the references (R170)": {
			given: objects{network("a"), network("b")},
			ask:   func(s stage) lists { return lists{References: refs(s, nil, "b", "a")} },
			want:  results{Values: []string{"ext-b", "ext-a"}, Refs: []string{"b", "a"}},
		},
		"every match, by name (R170)": {
			given: objects{network("b"), network("a"), network("0", leaving)},
			ask:   func(s stage) lists { return lists{Selector: s.sel(nil)} },
			want:  results{Values: []string{"ext-a", "ext-b"}, Refs: []string{"a", "b"}},
		},
		"one is missing (R167, R170)": {
			given: objects{network("a")},
			ask:   func(s stage) lists { return lists{References: refs(s, nil, "a", "b")} },
			want:  results{Refs: []string{"a", "b"}, Err: `Network "b" does not exist yet`},
		},
		"one that is optional is missing (R167, R170)": {
			given: objects{network("b")},
			ask:   func(s stage) lists { return lists{References: refs(s, optional, "a", "b")} },
			want:  results{Values: []string{"ext-b"}, Refs: []string{"a", "b"}},
		},
		"waits for every match (R167, R170)": {
			given: objects{network("a"), network("b", pending)},
			ask:   func(s stage) lists { return lists{Selector: s.sel(nil)} },
			want:  results{Err: `Network "b" has no external name yet: it is still being created`},
		},
	})
}

// What is chosen once stays, unless the policy is Always.
func TestResolveMultipleAgain(t *testing.T) {
	t.Parallel()
	runListings(t, map[string]listing{
		"values are kept (R168, R170)": {
			given: objects{network("a")},
			ask: func(s stage) lists {
				return lists{CurrentValues: []string{"mine"}, References: refs(s, nil, "a"), Selector: s.sel(nil)}
			},
			want: results{Values: []string{"mine"}, Refs: []string{"a"}},
		},
		"Always takes in new matches (R168, R170)": {
			given: objects{network("a"), network("b")},
			ask: func(s stage) lists {
				return lists{CurrentValues: []string{"ext-a"}, References: refs(s, nil, "a"), Selector: s.sel(always)}
			},
			want: results{Values: []string{"ext-a", "ext-b"}, Refs: []string{"a", "b"}},
		},
		"a later match is not taken in without Always (R168, R170)": {
			given: objects{network("a"), network("b")},
			ask: func(s stage) lists {
				return lists{CurrentValues: []string{"ext-a"}, References: refs(s, nil, "a"), Selector: s.sel(nil)}
			},
			want: results{Values: []string{"ext-a"}, Refs: []string{"a"}},
		},
		"Always leaves out what no longer matches (R168, R170)": {
			given: objects{network("a"), network("b", labelled("app", "other")), network("c", leaving)},
			ask: func(s stage) lists {
				return lists{CurrentValues: []string{"ext-a", "ext-b", "ext-c"}, References: refs(s, nil, "a", "b", "c"), Selector: s.sel(always)}
			},
			want: results{Values: []string{"ext-a"}, Refs: []string{"a"}},
		},
		"Always follows each reference (R168, R170)": {
			given: objects{network("a"), network("b")},
			ask: func(s stage) lists {
				return lists{CurrentValues: []string{"old-a", "old-b"}, References: refs(s, always, "a", "b")}
			},
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
			req := tc.ask(s)
			req.To = reference.To{Managed: &Network{}, List: &NetworkList{}}
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
