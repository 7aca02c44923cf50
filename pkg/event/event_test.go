// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/event"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func TestAPIRecorder(t *testing.T) {
	t.Parallel()
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "about"}}
	env := controlplanetest.New(t, about)
	r := event.NewAPIRecorder(env.Client, env.Client, "managed/queue.sqs.example.org")
	long := strings.Repeat("ä", 1000)
	recorded := []event.Event{
		event.Normal("Made", "made it"),
		event.Warning("Failed", errors.New("could not")),
		event.Warning("Failed", errors.New("could not")),
		event.Warning("Failed", errors.New(long)),
	}
	for _, e := range recorded {
		if err := r.Event(t.Context(), about, e); err != nil {
			t.Fatal(err)
		}
	}
	list := &corev1.EventList{}
	if err := env.Client.List(t.Context(), list, client.InNamespace(env.Namespace)); err != nil {
		t.Fatal(err)
	}
	t.Run("the source names the controller, the object is named (R203)", func(t *testing.T) {
		for _, e := range list.Items {
			if e.Source.Component != "managed/queue.sqs.example.org" || e.ReportingController != e.Source.Component {
				t.Errorf("event from %q, reported by %q", e.Source.Component, e.ReportingController)
			}
			if e.InvolvedObject.UID != about.UID || e.InvolvedObject.Kind != "ConfigMap" || e.InvolvedObject.Name != about.Name {
				t.Errorf("event about %+v", e.InvolvedObject)
			}
		}
	})
	t.Run("equal events count as one (R205)", func(t *testing.T) {
		counts := map[string]int32{}
		for _, e := range list.Items {
			counts[fmt.Sprintf("%s %s %.9s", e.Type, e.Reason, e.Message)] = e.Count
		}
		want := map[string]int32{"Normal Made made it": 1, "Warning Failed could not": 2, "Warning Failed äääääääää": 1}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// Names of objects may be longer than those of events can bear.
func TestAPIRecorderLongName(t *testing.T) {
	t.Parallel()
	about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 235) + "-" + strings.Repeat("b", 17)}}
	env := controlplanetest.New(t, about)
	if err := event.NewAPIRecorder(env.Client, env.Client, "test").Event(context.Background(), about, event.Normal("Made", "")); err != nil {
		t.Error(err)
	}
}

// A controller reports to users what it could not do, in words that stay the same while it tries again.
func Example() {
	report := func(ctx context.Context, mgr manager.Manager, about *corev1.ConfigMap) error {
		r := event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "managed/bucket.storage.example.org")
		return r.Event(ctx, about, event.Warning("CannotCreateExternalResource", errors.New("the quota of 10 buckets is used up")))
	}
	_ = report
}
