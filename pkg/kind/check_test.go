// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// opens is what a check of license "right" answers, and counts.
func opens(asked *int, verdicts map[string]kind.Verdict) func(context.Context, *vendor, *widgetRequest) (kind.Verdict, error) {
	return func(_ context.Context, v *vendor, r *widgetRequest) (kind.Verdict, error) {
		*asked++
		err := v.err
		v.err = nil
		return verdicts[string(r.Secrets["licenseSecretRef"])], err
	}
}

func TestSecretsAreChecked(t *testing.T) {
	t.Parallel()
	ready := &vendorWidget{Status: "READY", Labels: ours()}
	refused := seen{Ready: "False Unavailable", Drift: []string{"license"}}
	for name, tc := range map[string]struct {
		have          *vendorWidget
		given, stored string
		fails         error
		deleted       bool
		seen          seen
		asked         int    // times, by two observations
		sends         string // by Update
	}{
		"stored, accepted": {have: ready, stored: "right", asked: 1,
			seen: seen{Ready: "True Available", Details: map[string]string{"license": "right"}}},
		"stored, refused":          {have: ready, stored: "wrong", asked: 2, seen: refused, sends: "wrong"},
		"the vendor does not tell": {have: ready, stored: "unknown", asked: 2, seen: seen{Ready: "True Available"}},
		"nothing is stored":        {have: ready, seen: seen{Ready: "True Available"}},
		"chosen, the Secret differs": {have: ready, given: "right", stored: "wrong", asked: 1, sends: "right",
			seen: seen{Ready: "True Available", Details: map[string]string{"license": "right"}}},
		"chosen and not applied yet": {have: ready, given: "new", stored: "right", asked: 3, sends: "new",
			seen: seen{Ready: "True Available", Drift: []string{"license"}}},
		"neither is accepted": {have: ready, given: "new", stored: "wrong", asked: 4, seen: refused, sends: "new"},
		"chosen, no Secret":   {have: ready, given: "new", asked: 2, seen: refused, sends: "new"},
		"not ours": {have: &vendorWidget{Status: "READY", Labels: with(ours(), meta.ExternalLabelUID, "uid-2")}, stored: "wrong",
			seen: seen{Ready: "True Available", Drift: []string{"labels." + meta.ExternalLabelUID}}},
		"not ready":     {have: &vendorWidget{Status: "MAKING", Labels: ours()}, stored: "wrong", seen: seen{Ready: "False Creating"}},
		"being deleted": {have: ready, stored: "wrong", deleted: true, seen: seen{Ready: "True Available"}},
	} {
		t.Run(name+" (N53)", func(t *testing.T) {
			t.Parallel()
			asked, v := 0, &vendor{have: tc.have}
			w := newWidget(func(w *widget) {
				w.parameters.Size = new(int64)
				if tc.deleted {
					w.DeletionTimestamp = new(metav1.Now())
				}
			})
			k := widgets()
			k.CheckSecrets = opens(&asked, map[string]kind.Verdict{"right": kind.Accepted, "wrong": kind.Refused, "new": kind.Refused})
			c := connect(t, k, v, w)
			if tc.given != "" {
				as[managed.SecretInputUser](t, c).UseSecretInputs(map[string][]byte{"licenseSecretRef": []byte(tc.given)})
			}
			as[managed.ConnectionDetailsUser](t, c).UseConnectionDetails(managed.ConnectionDetails{"license": []byte(tc.stored)})
			for range 2 {
				o, err := c.Observe(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				tc.seen.Owner = string(*o.Owner)
				if diff := cmp.Diff(tc.seen, inShort(w, o, tc.seen)); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
			if asked != tc.asked {
				t.Errorf("the vendor was asked %d times, want %d", asked, tc.asked)
			}
			if _, err := c.Update(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if got := string(v.request.Secrets["licenseSecretRef"]); got != tc.sends {
				t.Errorf("Update sends %q, want %q", got, tc.sends)
			}
		})
	}
}

// A Secret may be read again between Observe and Update, past a cache that was behind.
func TestRefusedSecretIsReadAgain_N53(t *testing.T) {
	t.Parallel()
	asked, v, w := 0, &vendor{have: &vendorWidget{Status: "READY", Labels: ours()}}, newWidget(nil)
	k := widgets()
	k.CheckSecrets = opens(&asked, map[string]kind.Verdict{"former": kind.Refused})
	c := connect(t, k, v, w)
	stored := as[managed.ConnectionDetailsUser](t, c)
	for _, value := range []string{"present", ""} {
		stored.UseConnectionDetails(managed.ConnectionDetails{"license": []byte("former")})
		if _, err := c.Observe(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		stored.UseConnectionDetails(managed.ConnectionDetails{"license": []byte(value)})
		if _, err := c.Update(t.Context(), w); err != nil || string(v.request.Secrets["licenseSecretRef"]) != value {
			t.Errorf("Update sends %q, want %q; error %v", v.request.Secrets["licenseSecretRef"], value, err)
		}
	}
	stored.UseConnectionDetails(managed.ConnectionDetails{"license": []byte("present")})
	v.err = errBroken
	if _, err := c.Observe(t.Context(), w); err == nil {
		t.Error("a check that fails is not reported")
	}
}
