// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/service/internal/mapping"
)

type (
	vendorScaling struct {
		MinSize int32
		MaxSize *int32
	}
	vendorBase struct {
		CreatedAt time.Time
		Tags      map[string]string
	}
	vendorGroup struct {
		*vendorBase
		CidrBlock   string
		Description string
		Scaling     []vendorScaling
		Size        int
		Public      bool
		Ratio       float32
		Kind        vendorKind
		Parent      *vendorGroup
		secret      string
	}
	vendorKind string

	scaling struct {
		MinSize *int64 `json:"minSize,omitempty"`
		MaxSize *int64 `json:"maxSize,omitempty"`
	}
	group struct {
		CIDRBlock   *string           `json:"cidrBlock,omitempty"`
		Description *string           `json:"description,omitempty"`
		Scaling     []scaling         `json:"scaling,omitempty"`
		Size        *int              `json:"size,omitempty"`
		Public      *bool             `json:"public,omitempty"`
		Ratio       *float64          `json:"ratio,omitempty"`
		Sort        *string           `json:"sort,omitempty" vendor:"Kind"`
		Tags        map[string]string `json:"tags,omitempty"`
		Since       metav1.Time       `json:"since,omitzero" vendor:"CreatedAt"`
		CreatedAt   string            `json:"createdAt,omitempty"`
		Parent      *group            `json:"parent,omitempty"`
		Own         *string           `json:"own,omitempty"`
	}
)

func TestCopy(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cases := map[string]struct {
		reason string
		from   vendorGroup
		want   group
	}{
		"Everything": {
			reason: "Names match whatever their spelling, numbers whatever their width.",
			from: vendorGroup{
				vendorBase: &vendorBase{CreatedAt: began, Tags: map[string]string{"a": "b"}},
				CidrBlock:  "10.0.0.0/8", Description: "d", Size: 3, Public: true, Ratio: 0.5, Kind: "small",
				Scaling: []vendorScaling{{MinSize: 1, MaxSize: ptr.To(int32(2))}, {}}, Parent: &vendorGroup{CidrBlock: "p"}, secret: "s",
			},
			want: group{
				CIDRBlock: ptr.To("10.0.0.0/8"), Description: ptr.To("d"), Size: ptr.To(3), Public: ptr.To(true), Ratio: ptr.To(0.5), Sort: ptr.To("small"),
				Scaling: []scaling{{MinSize: ptr.To(int64(1)), MaxSize: ptr.To(int64(2))}, {MinSize: ptr.To(int64(0))}},
				Tags:    map[string]string{"a": "b"}, Since: metav1.NewTime(began), CreatedAt: "2026-01-02T03:04:05Z",
				Parent: &group{CIDRBlock: ptr.To("p"), Size: ptr.To(0), Public: ptr.To(false), Ratio: ptr.To(0.0)},
			},
		},
		"Nothing": {
			reason: "An empty answer sets nothing, but 0 and false are answers.",
			want:   group{Size: ptr.To(0), Public: ptr.To(false), Ratio: ptr.To(0.0)},
		},
	}
	m, err := mapping.New[vendorGroup, group]()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"own"}, m.Unmatched); diff != "" {
		t.Errorf("unmatched fields (-want +got):\n%s", diff)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, m.Copy(&tc.from)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestInto(t *testing.T) {
	t.Parallel()
	type input struct {
		CIDRBlock   string
		Description *string
		Tags        *map[string]string
		Kept        string
	}
	cases := map[string]struct {
		reason string
		from   group
		want   input
	}{
		"PresentThoughEmpty": {
			reason: "A user who sets an empty description wants it cleared.",
			from:   group{CIDRBlock: ptr.To("c"), Description: ptr.To(""), Tags: map[string]string{}},
			want:   input{CIDRBlock: "c", Description: ptr.To(""), Tags: &map[string]string{}, Kept: "k"},
		},
		"Absent": {
			reason: "What is not declared is not sent.",
			want:   input{Kept: "k"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := input{Kept: "k"}
			if err := mapping.Into(&got, tc.from); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCopySharesNothing(t *testing.T) {
	t.Parallel()
	from := group{Tags: map[string]string{"a": "b"}, Scaling: []scaling{{MinSize: ptr.To(int64(1))}}}
	m, err := mapping.New[group, group]()
	if err != nil {
		t.Fatal(err)
	}
	copied := m.Copy(&from)
	from.Tags["a"], *from.Scaling[0].MinSize = "c", 2
	want := group{Tags: map[string]string{"a": "b"}, Scaling: []scaling{{MinSize: ptr.To(int64(1))}}}
	if diff := cmp.Diff(want, copied); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	_, err := mapping.New[struct{ Size string }, struct {
		Size *int `json:"size"`
	}]()
	if err == nil || !strings.Contains(err.Error(), "field size: a string is no int") {
		t.Errorf("error is %v, which does not name the field and both types", err)
	}
	if err := mapping.Into(group{}, group{}); err == nil {
		t.Error("a copy into a value that nobody sees is no error")
	}
	if _, err := mapping.New[struct{ Ratio float64 }, struct{ Ratio int }](); err == nil {
		t.Error("cutting off fractions is no error")
	}
}
