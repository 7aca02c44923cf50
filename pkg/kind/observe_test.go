// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// seen is what Observe returns of a widget, in short.
type seen struct {
	Missing bool
	Drift   []string // fields
	Fixed   []string // those of them that no update settles
	Late    bool
	Failed  string // a part of the message
	Ready   string // status and reason
	Owner   string
	Details map[string]string
}

// An observeCase is one look at a widget.
type observeCase struct {
	have           *vendorWidget
	given, initial widgetParameters
	policies       xpv1.ManagementPolicies
	seen           seen
	after          func(*widgetParameters) // what late initialization makes of the parameters
}

func TestCompare(t *testing.T) {
	t.Parallel()
	details := map[string]string{"endpoint": "there", "port": "5432"}
	observe(t, map[string]observeCase{
		"undeclared fields are not compared, nor case, order and spaces where rules permit it": {
			have: &vendorWidget{Status: "READY", Size: 3, Zones: []string{"b", "a"}, Policy: `{"b": 1, "a": 2}`, Engine: "PG", Labels: ours(),
				Host: "there", Port: 5432},
			given: widgetParameters{Size: ptr.To(int64(3)), Zones: []string{"a", "b"}, Policy: ptr.To(`{"a":2,"b":1}`), Engine: ptr.To("pg"),
				Tier: ptr.To("basic"), Script: ptr.To("never answered"), PasswordSecretRef: &xpv1.SecretKeySelector{}, Labels: ours()},
			seen: seen{Ready: "True Available", Owner: "uid-1", Details: details},
		},
		"differences, also of ownership labels": {
			have:  &vendorWidget{Status: "READY", Size: 3, Tier: "gold", Labels: map[string]string{"team": "b"}},
			given: widgetParameters{Size: ptr.To(int64(4)), Tier: ptr.To("basic"), Labels: map[string]string{"team": "a"}},
			seen: seen{Ready: "True Available", Drift: []string{
				"labels.bowline-uid", "labels.crossplane-kind", "labels.crossplane-name", "labels.crossplane-provider", "labels.team", "size", "tier"}},
		},
		"zero that the user sets is compared (R143)": {
			have:  &vendorWidget{Status: "READY", Labels: ours()},
			given: widgetParameters{Size: ptr.To(int64(0)), Labels: ours()},
			seen:  seen{Ready: "True Available", Owner: "uid-1"},
		},
		"zero counts as the default, and is not late-initialized (R143)": {
			have:  &vendorWidget{Status: "READY", Labels: ours()},
			given: widgetParameters{Tier: ptr.To("basic"), Labels: ours()},
			seen:  seen{Ready: "True Available", Owner: "uid-1"},
		},
		"elements that only initProvider adds are no difference (R143)": {
			have:    &vendorWidget{Status: "READY", Labels: ours(), Scaling: []struct{ Min, Want int }{{1, 1}, {2, 2}}},
			given:   widgetParameters{Size: ptr.To(int64(0)), Labels: ours(), Scaling: []widgetScaling{{ptr.To(1), ptr.To(1)}}},
			initial: widgetParameters{Scaling: []widgetScaling{{}, {Min: ptr.To(2)}}},
			seen:    seen{Ready: "True Available", Owner: "uid-1"},
		},
		"ownership labels are not compared without Update": {
			have:     &vendorWidget{Status: "READY", Labels: map[string]string{"team": "b"}},
			policies: xpv1.ManagementPolicies{xpv1.ManagementActionObserve},
			given:    widgetParameters{Labels: map[string]string{"team": "b"}, Size: ptr.To(int64(0))},
			seen:     seen{Ready: "True Available"},
		},
		"a difference in an immutable field is a failure": {
			have:  &vendorWidget{Status: "READY", Region: "west", Labels: ours()},
			given: widgetParameters{Region: ptr.To("east"), Size: ptr.To(int64(0)), Labels: ours()},
			seen: seen{Ready: "True Available", Owner: "uid-1", Drift: []string{"region"}, Fixed: []string{"region"},
				Failed: `region is immutable`},
		},
	})
}

func TestLateInitialize(t *testing.T) {
	t.Parallel()
	observe(t, map[string]observeCase{
		"values of the vendor, but those in initProvider and ownership labels": {
			have: &vendorWidget{Status: "READY", Size: 2, Region: "west", Labels: with(ours(), "vendors", "own"),
				Scaling: []struct{ Min, Want int }{{1, 5}}},
			given:   widgetParameters{Scaling: []widgetScaling{{Min: ptr.To(1)}}},
			initial: widgetParameters{Scaling: []widgetScaling{{Want: ptr.To(3)}}},
			seen:    seen{Ready: "True Available", Owner: "uid-1", Late: true},
			after: func(p *widgetParameters) {
				p.Size, p.Region, p.Labels = ptr.To(int64(2)), ptr.To("west"), map[string]string{"vendors": "own"}
			},
		},
		"not labels that the user removed": {
			have:  &vendorWidget{Status: "READY", Labels: with(ours("team", "a"), "removed", "x")},
			given: widgetParameters{Size: ptr.To(int64(0)), Labels: map[string]string{"team": "a"}},
			seen:  seen{Ready: "True Available", Owner: "uid-1"},
		},
	})
}

func TestStates(t *testing.T) {
	t.Parallel()
	observe(t, map[string]observeCase{
		"not found": {
			seen: seen{Missing: true},
		},
		"creating": {
			have:  &vendorWidget{Status: "MAKING", Labels: ours()},
			given: widgetParameters{Size: ptr.To(int64(0)), Labels: ours()},
			seen:  seen{Ready: "False Creating", Owner: "uid-1"},
		},
		"deleting, not compared": {
			have:  &vendorWidget{Status: "GOING", Size: 3, Labels: ours()},
			given: widgetParameters{Size: ptr.To(int64(4))},
			seen:  seen{Ready: "False Deleting", Owner: "uid-1"},
		},
		"failed, with the vendor's message": {
			have:  &vendorWidget{Status: "BROKEN", Message: "the disk is full", Labels: ours()},
			given: widgetParameters{Size: ptr.To(int64(0)), Labels: ours()},
			seen:  seen{Ready: "False Unavailable", Owner: "uid-1", Failed: "the disk is full"},
		},
	})
}

// observe looks at a widget once for each case.
func observe(t *testing.T, cases map[string]observeCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWidget(func(w *widget) {
				w.parameters, w.initial = tc.given, tc.initial
				if tc.policies != nil {
					w.policies = tc.policies
				}
			})
			before := w.parameters
			o, err := connect(t, widgets(), &vendor{have: tc.have}, w).Observe(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.seen, inShort(w, o, tc.seen)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if tc.after != nil {
				tc.after(&before)
			}
			if diff := cmp.Diff(before, w.parameters); diff != "" {
				t.Errorf("parameters -want +got:\n%s", diff)
			}
		})
	}
}

// inShort returns what Observe found; of the message of a failure the part that is wanted, if it is there.
func inShort(w *widget, o managed.ExternalObservation, want seen) seen {
	s := seen{Missing: !o.ResourceExists, Late: o.ResourceLateInitialized, Fixed: o.Fixed}
	for _, d := range o.Drift {
		s.Drift = append(s.Drift, d.Path)
	}
	if c := w.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionUnknown {
		s.Ready = string(c.Status) + " " + string(c.Reason)
	}
	if o.Owner != nil {
		s.Owner = string(*o.Owner)
	}
	if o.Failed != nil {
		s.Failed = failure.Of(o.Failed).Message // application teams read it, too
		if want.Failed != "" && strings.Contains(s.Failed, want.Failed) {
			s.Failed = want.Failed
		}
	}
	for key, value := range o.ConnectionDetails {
		if s.Details == nil {
			s.Details = map[string]string{}
		}
		s.Details[key] = string(value)
	}
	return s
}
