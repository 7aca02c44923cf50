// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
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
		from vendorGroup
		want group
	}{
		"names of any spelling, numbers of any width": {
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
		"an empty answer sets 0 and false only": {
			want: group{Size: ptr.To(0), Public: ptr.To(false), Ratio: ptr.To(0.0)},
		},
	}
	convert, unmatched, err := mapping.New[vendorGroup, group]()
	if err != nil || len(unmatched) != 1 || unmatched[0].Path != "own" {
		t.Fatalf("unmatched fields %v, error %v", unmatched, err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := convert(&tc.from)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// into copies one struct into another.
func into[From any](to any, from From) error {
	at := reflect.ValueOf(to).Elem()
	assign, err := mapping.Between[From](at.Type())
	if err != nil {
		return err
	}
	return assign(&from, at)
}

func TestBetween(t *testing.T) {
	t.Parallel()
	type input struct {
		CIDRBlock   string
		Description *string
		Tags        *map[string]string
		Kept        string
	}
	cases := map[string]struct {
		from group
		want input
	}{
		"empty values that are set": {
			from: group{CIDRBlock: ptr.To("c"), Description: ptr.To(""), Tags: map[string]string{}},
			want: input{CIDRBlock: "c", Description: ptr.To(""), Tags: &map[string]string{}, Kept: "k"},
		},
		"unset values": {
			want: input{Kept: "k"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := input{Kept: "k"}
			if err := into(&got, tc.from); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCopyWhole(t *testing.T) {
	t.Parallel()
	type sized struct {
		Size    *resource.Quantity
		Range   netip.Prefix
		Since   metav1.MicroTime
		Timeout metav1.Duration
	}
	type spelled struct {
		Size, Range, Since string
		Timeout            *metav1.Duration
	}
	from := sized{ptr.To(resource.MustParse("5Gi")), netip.MustParsePrefix("10.0.0.0/8"),
		metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)), metav1.Duration{Duration: time.Minute}}
	var same, back sized
	var text spelled
	for _, err := range []error{into(&same, from), into(&text, from), into(&back, text)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text.Size != "5Gi" || text.Range != "10.0.0.0/8" || text.Since != "2026-01-02T03:04:05.000006Z" {
		t.Errorf("texts of values that hide what they are: %+v", text)
	}
	for _, got := range []sized{same, back} {
		if got.Size.String() != "5Gi" || got.Range != from.Range || !got.Since.Equal(&from.Since) || got.Timeout != from.Timeout {
			t.Errorf("values that hide what they are came over as %+v", got)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	type wide struct {
		Size  *int64   `json:"size"`
		Ratio *float64 `json:"ratio"`
	}
	type narrow struct {
		Size  int32
		Ratio float32
	}
	var to narrow
	err := into(&to, wide{ptr.To(int64(5_000_000_000)), ptr.To(0.1)})
	if want := "field Size: 5000000000 is out of the range of int32"; err == nil || err.Error() != want || to.Size != 0 {
		t.Errorf("error %v, want %s; size %d", err, want, to.Size)
	}
	if err := into(&struct{ Size uint64 }{}, wide{Size: ptr.To(int64(-1))}); err == nil {
		t.Error("a negative number that becomes a large one is no error")
	}
	var back wide
	if err := into(&back, to); err != nil || *back.Ratio != 0.1 {
		t.Errorf("0.1 became %v, error %v", *back.Ratio, err)
	}
}

func TestEmptyElements(t *testing.T) {
	t.Parallel()
	type vendors struct {
		One  struct{ MinSize int32 }
		None struct{ Name string }
		All  []vendorScaling
		By   map[string]string
	}
	type ours struct {
		One  *scaling
		None *struct{ Name *string }
		All  []*scaling
		By   map[string]*string
	}
	var got ours
	if err := into(&got, vendors{All: []vendorScaling{{}}, By: map[string]string{"a": ""}}); err != nil {
		t.Fatal(err)
	}
	want := ours{One: &scaling{MinSize: ptr.To(int64(0))}, All: []*scaling{{MinSize: ptr.To(int64(0))}}, By: map[string]*string{"a": ptr.To("")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCopySharesNothing(t *testing.T) {
	t.Parallel()
	from := group{Tags: map[string]string{"a": "b"}, Scaling: []scaling{{MinSize: ptr.To(int64(1))}}}
	var copied group
	if err := into(&copied, from); err != nil {
		t.Fatal(err)
	}
	from.Tags["a"], *from.Scaling[0].MinSize = "c", 2
	want := group{Tags: map[string]string{"a": "b"}, Scaling: []scaling{{MinSize: ptr.To(int64(1))}}}
	if diff := cmp.Diff(want, copied); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	_, _, err := mapping.New[struct{ Size string }, struct {
		Size *int `json:"size"`
	}]()
	if err == nil || !strings.Contains(err.Error(), "field size: a string is no int") {
		t.Errorf("error is %v, which does not name the field and both types", err)
	}
	if _, _, err := mapping.New[struct{ Range netip.Prefix }, struct{ Range struct{ Bits int } }](); err == nil {
		t.Error("a struct that cannot be read is no error")
	}
	if _, _, err := mapping.New[struct{ CreatedAt string }, vendorGroup](); err == nil {
		t.Error("a field that cannot be set is no error")
	}
	if _, err := mapping.Between[group](reflect.TypeFor[string]()); err == nil {
		t.Error("what is no struct is no error")
	}
	if _, _, err := mapping.New[struct{ Ratio float64 }, struct{ Ratio int }](); err == nil {
		t.Error("cutting off fractions is no error")
	}
}

func TestPointers(t *testing.T) {
	t.Parallel()
	type nested struct {
		Value *int
		Plain int
	}
	type vendor struct {
		Size, Count *int
		Plain       int
		Net         *nested
		Many        []nested
		Next        *vendor
	}
	type inner struct {
		Value *int `json:"value"`
		Plain *int `json:"plain"`
	}
	type ours struct {
		Size  *int64  `json:"size"`
		Count int64   `json:"count"`
		Plain *int    `json:"plain"`
		Net   inner   `json:"net"`
		Many  []inner `json:"many"`
		Next  *ours   `json:"next"`
		Other *int    `json:"other"`
	}
	if diff := cmp.Diff([]string{"size", "net.value", "next"}, mapping.Pointers[vendor, ours]()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
