// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// Only the first attempt of a deletion counts, for a minute.
func TestBrakeCountsDeletions(t *testing.T) {
	type attempt struct {
		after     time.Duration
		object    types.UID
		namespace string
		want      over
	}
	if most := mostDeletions(xpv1.ProviderSpec{}); most != 50 {
		t.Errorf("%d deletions per minute by default (N39)", most)
	}
	namespace, all := over{namespace: true}, over{all: true}
	for name, attempts := range map[string][]attempt{
		"a third one within a minute (N39)":       {{0, "a", "", over{}}, {0, "b", "", over{}}, {59 * time.Second, "c", "", namespace}},
		"a third one after a minute (N39)":        {{0, "a", "", over{}}, {0, "b", "", over{}}, {time.Minute, "c", "", over{}}},
		"repeated attempts count no longer (N39)": {{0, "a", "", over{}}, {0, "b", "", over{}}, {40 * time.Second, "a", "", over{}}, {0, "b", "", over{}}, {30 * time.Second, "c", "", over{}}},
		"one of another namespace (N39)":          {{0, "a", "x", over{}}, {0, "b", "x", over{}}, {0, "c", "x", namespace}, {0, "d", "y", over{}}},
		"too many of all namespaces (N39)":        {{0, "a", "x", over{}}, {0, "b", "x", over{}}, {0, "c", "y", over{}}, {0, "d", "z", over{}}, {0, "e", "z", all}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &brake{}
				for i, a := range attempts {
					time.Sleep(a.after)
					if got := b.take(limits.Key{}, a.object, a.namespace, &metav1.ObjectMeta{}, 2); got != a.want {
						t.Errorf("attempt %d of %s: %+v", i, a.object, got)
					}
				}
				if b.forget(limits.Key{}); len(b.begun) > 0 {
					t.Errorf("%d configurations are remembered", len(b.begun))
				}
			})
		})
	}
}
