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

// seen is what Observe tells of a widget, in short.
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
	reason string
	have   *vendorWidget
	want   func(*widget)
	seen   seen
	after  func(*widgetParameters) // what late initialization makes of the parameters
}

func TestCompare(t *testing.T) {
	t.Parallel()
	details := map[string]string{"endpoint": "there", "port": "5432"}
	observe(t, map[string]observeCase{
		"AsDeclared": {
			reason: "What is not declared is not compared, and spelling, order and spaces do not count where the kind says so.",
			have: &vendorWidget{Status: "READY", Size: 3, Zones: []string{"b", "a"}, Policy: `{"b": 1, "a": 2}`, Engine: "PG", Labels: ours(),
				Host: "there", Port: 5432},
			want: func(w *widget) {
				w.parameters = widgetParameters{Size: ptr.To(int64(3)), Zones: []string{"a", "b"}, Policy: ptr.To(`{"a":2,"b":1}`), Engine: ptr.To("pg"),
					Tier: ptr.To("basic"), Script: ptr.To("never answered"), PasswordSecretRef: &xpv1.SecretKeySelector{}, Labels: ours()}
			},
			seen: seen{Ready: "True Available", Owner: "uid-1", Details: details},
		},
		"Differs": {
			reason: "Fields that differ are named, and labels that say whose it is are kept up like any other.",
			have:   &vendorWidget{Status: "READY", Size: 3, Tier: "gold", Labels: map[string]string{"team": "b"}},
			want: func(w *widget) {
				w.parameters = widgetParameters{Size: ptr.To(int64(4)), Tier: ptr.To("basic"), Labels: map[string]string{"team": "a"}}
			},
			seen: seen{Ready: "True Available", Drift: []string{
				"labels.bowline-uid", "labels.crossplane-kind", "labels.crossplane-name", "labels.crossplane-provider", "labels.team", "size", "tier"}},
		},
		"Zero (R143)": {
			reason: "Zero that the user asks for is not hidden by a default.",
			have:   &vendorWidget{Status: "READY", Labels: ours()},
			want:   func(w *widget) { w.parameters = widgetParameters{Size: ptr.To(int64(0)), Labels: ours()} },
			seen:   seen{Ready: "True Available", Owner: "uid-1"},
		},
		"Default (R143)": {
			reason: "Zero that nobody asked for says nothing: it is not taken over, and the default stands in for it.",
			have:   &vendorWidget{Status: "READY", Labels: ours()},
			want:   func(w *widget) { w.parameters = widgetParameters{Tier: ptr.To("basic"), Labels: ours()} },
			seen:   seen{Ready: "True Available", Owner: "uid-1"},
		},
		"InitProvider (R143)": {
			reason: "Elements that only initProvider adds are no difference.",
			have:   &vendorWidget{Status: "READY", Labels: ours(), Scaling: []struct{ Min, Want int }{{1, 1}, {2, 2}}},
			want: func(w *widget) {
				w.parameters = widgetParameters{Size: ptr.To(int64(0)), Labels: ours(), Scaling: []widgetScaling{{ptr.To(1), ptr.To(1)}}}
				w.initial = widgetParameters{Scaling: []widgetScaling{{}, {Min: ptr.To(2)}}}
			},
			seen: seen{Ready: "True Available", Owner: "uid-1"},
		},
		"OnlyLooks": {
			reason: "Who may not update does not ask for our labels.",
			have:   &vendorWidget{Status: "READY", Labels: map[string]string{"team": "b"}},
			want: func(w *widget) {
				w.policies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
				w.parameters = widgetParameters{Labels: map[string]string{"team": "b"}, Size: ptr.To(int64(0))}
			},
			seen: seen{Ready: "True Available"},
		},
		"Immutable": {
			reason: "No update heals a difference in a field that cannot change, so the user has to know.",
			have:   &vendorWidget{Status: "READY", Region: "west", Labels: ours()},
			want: func(w *widget) {
				w.parameters = widgetParameters{Region: ptr.To("east"), Size: ptr.To(int64(0)), Labels: ours()}
			},
			seen: seen{Ready: "True Available", Owner: "uid-1", Drift: []string{"region"}, Fixed: []string{"region"},
				Failed: `region is immutable`},
		},
	})
}

func TestLateInitialize(t *testing.T) {
	t.Parallel()
	observe(t, map[string]observeCase{
		"LateInitialized": {
			reason: "What the vendor chose is taken over, other than what initProvider sets and labels of ownership.",
			have: &vendorWidget{Status: "READY", Size: 2, Region: "west", Labels: with(ours(), "vendors", "own"),
				Scaling: []struct{ Min, Want int }{{1, 5}}},
			want: func(w *widget) {
				w.parameters = widgetParameters{Scaling: []widgetScaling{{Min: ptr.To(1)}}}
				w.initial = widgetParameters{Scaling: []widgetScaling{{Want: ptr.To(3)}}}
			},
			seen: seen{Ready: "True Available", Owner: "uid-1", Late: true},
			after: func(p *widgetParameters) {
				p.Size, p.Region, p.Labels = ptr.To(int64(2)), ptr.To("west"), map[string]string{"vendors": "own"}
			},
		},
		"UsersLabelsStay": {
			reason: "A label that the user removes must not come back.",
			have:   &vendorWidget{Status: "READY", Labels: with(ours("team", "a"), "removed", "x")},
			want: func(w *widget) {
				w.parameters = widgetParameters{Size: ptr.To(int64(0)), Labels: map[string]string{"team": "a"}}
			},
			seen: seen{Ready: "True Available", Owner: "uid-1"},
		},
	})
}

func TestStates(t *testing.T) {
	t.Parallel()
	observe(t, map[string]observeCase{
		"Missing": {
			reason: "The vendor's own answer says that there is none.",
			seen:   seen{Missing: true},
		},
		"Creating": {
			reason: "The state says that it is not ready.",
			have:   &vendorWidget{Status: "MAKING", Labels: ours()},
			want:   func(w *widget) { w.parameters = widgetParameters{Size: ptr.To(int64(0)), Labels: ours()} },
			seen:   seen{Ready: "False Creating", Owner: "uid-1"},
		},
		"Deleting": {
			reason: "What is going away is left in peace.",
			have:   &vendorWidget{Status: "GOING", Size: 3, Labels: ours()},
			want:   func(w *widget) { w.parameters.Size = ptr.To(int64(4)) },
			seen:   seen{Ready: "False Deleting", Owner: "uid-1"},
		},
		"Broken": {
			reason: "The vendor's reason reaches the user.",
			have:   &vendorWidget{Status: "BROKEN", Message: "the disk is full", Labels: ours()},
			want:   func(w *widget) { w.parameters = widgetParameters{Size: ptr.To(int64(0)), Labels: ours()} },
			seen:   seen{Ready: "False Unavailable", Owner: "uid-1", Failed: "the disk is full"},
		},
	})
}

// observe looks at a widget once for each case.
func observe(t *testing.T, cases map[string]observeCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWidget(tc.want)
			before := w.parameters
			o, err := connect(t, widgets(), &vendor{have: tc.have}, w).Observe(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.seen, inShort(w, o, tc.seen)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if tc.after != nil {
				tc.after(&before)
			}
			if diff := cmp.Diff(before, w.parameters); diff != "" {
				t.Errorf("parameters: %s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// inShort tells what Observe found; of the message of a failure the part that is wanted, if it is there.
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
