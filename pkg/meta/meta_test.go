// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/meta"
)

func TestAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		key, value string
		got        func(metav1.Object) any
		want       any
	}{
		"the external name (R62, A21)":      {"crossplane.io/external-name", "orders-1", externalName, "orders-1"},
		"no external name yet (R62, R66)":   {"", "", externalName, ""},
		"true pauses (R96, R97, A21)":       {"crossplane.io/paused", "true", paused, true},
		"True does not (R97)":               {"crossplane.io/paused", "True", paused, false},
		"TRUE does not (R97)":               {"crossplane.io/paused", "TRUE", paused, false},
		"1 does not (R97)":                  {"crossplane.io/paused", "1", paused, false},
		"yes does not (R97)":                {"crossplane.io/paused", "yes", paused, false},
		"false does not (R97)":              {"crossplane.io/paused", "false", paused, false},
		"nothing does not (R97)":            {"crossplane.io/paused", "", paused, false},
		"true with a blank does not (R97)":  {"crossplane.io/paused", " true", paused, false},
		"true on a line does not (R97)":     {"crossplane.io/paused", "true\n", paused, false},
		"another annotation does not (R96)": {"example.org/paused", "true", paused, false},
		"true orphans (N31)":                {"bowline.dev/orphan-on-delete", "true", orphans, true},
		"anything else does not (N31)":      {"bowline.dev/orphan-on-delete", "yes", orphans, false},
		"poll interval":                     {"crossplane.io/poll-interval", "1h30m", pollInterval, "1h30m0s true"},
		"poll interval: the shortest":       {"crossplane.io/poll-interval", "1s", pollInterval, "1s true"},
		"poll interval: none":               {"", "", pollInterval, "0s false"},
		"poll interval: too short":          {"crossplane.io/poll-interval", "999ms", pollInterval, "999ms false"},
		"poll interval: backwards":          {"crossplane.io/poll-interval", "-1h", pollInterval, "-1h0m0s false"},
		"poll interval: no duration":        {"crossplane.io/poll-interval", "60", pollInterval, "0s false"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: map[string]string{tc.key: tc.value}}
			if got := tc.got(o); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func externalName(o metav1.Object) any { return meta.GetExternalName(o) }
func paused(o metav1.Object) any       { return meta.IsPaused(o) }
func orphans(o metav1.Object) any      { return meta.OrphansOnDelete(o) }
func pollInterval(o metav1.Object) any {
	d, ok := meta.GetPollInterval(o)
	return fmt.Sprint(d, ok)
}

func TestSetExternalName(t *testing.T) {
	t.Run("the last name counts, other annotations stay (A21, R62, R65)", func(t *testing.T) {
		o := &metav1.ObjectMeta{Annotations: map[string]string{"theirs": "stays"}}
		meta.SetExternalName(o, "first")
		meta.SetExternalName(o, "second")
		if diff := cmp.Diff(map[string]string{"theirs": "stays", "crossplane.io/external-name": "second"}, o.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestFinalizer(t *testing.T) {
	t.Run("added once, removed, others stay (A21, R51)", func(t *testing.T) {
		o := &metav1.ObjectMeta{Finalizers: []string{"theirs"}}
		shared := o.Finalizers
		meta.AddFinalizer(o, "ours")
		meta.AddFinalizer(o, "ours")
		if diff := cmp.Diff([]string{"theirs", "ours"}, o.Finalizers); diff != "" || !meta.FinalizerExists(o, "ours") {
			t.Errorf("added once -want +got:\n%s", diff)
		}
		meta.RemoveFinalizer(o, "ours")
		if diff := cmp.Diff([]string{"theirs"}, o.Finalizers); diff != "" || meta.FinalizerExists(o, "ours") {
			t.Errorf("removed -want +got:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"theirs"}, shared); diff != "" {
			t.Errorf("a cached object's slice must stay as it is -want +got:\n%s", diff)
		}
	})
}

func TestWasDeleted(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		at   *metav1.Time
		want bool
	}{
		"not requested (A21)": {},
		"requested (A21)":     {at: &now, want: true},
		"the zero time (A21)": {at: &metav1.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta.WasDeleted(&metav1.ObjectMeta{DeletionTimestamp: tc.at}); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

var kind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}

func TestOwners(t *testing.T) {
	owner := func(name string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)}
	}
	ownedBy := func(o ...*metav1.ObjectMeta) *metav1.ObjectMeta {
		owned := &metav1.ObjectMeta{}
		for _, by := range o {
			meta.AddOwnerReference(owned, meta.AsController(by, kind))
		}
		return owned
	}
	t.Run("controller (A21, R213)", func(t *testing.T) {
		want := []metav1.OwnerReference{{
			APIVersion: "storage.example.org/v1", Kind: "Bucket", Name: "a", UID: "uid of a", Controller: new(true),
		}}
		if diff := cmp.Diff(want, ownedBy(owner("a")).OwnerReferences); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("one reference per owner (A21)", func(t *testing.T) {
		o := ownedBy(owner("a"), owner("b"))
		shared := o.OwnerReferences
		later := meta.AsController(owner("a"), kind)
		later.Controller = nil
		meta.AddOwnerReference(o, later)
		if len(o.OwnerReferences) != 2 || o.OwnerReferences[0].Controller != nil || shared[0].Controller == nil {
			t.Errorf("now %+v, a cached object's %+v", o.OwnerReferences, shared)
		}
	})
	plain := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "uid of a"}}}
	for name, tc := range map[string]struct {
		a, b *metav1.ObjectMeta
		want bool
	}{
		"the same controller (A21, R163)":     {ownedBy(owner("a")), ownedBy(owner("a")), true},
		"two controllers (A21, R163)":         {ownedBy(owner("a")), ownedBy(owner("b")), false},
		"one has none (A21, R163)":            {ownedBy(owner("a")), ownedBy(), false},
		"neither has one (A21, R163)":         {ownedBy(), ownedBy(), false},
		"owned by it, that's all (A21, R163)": {ownedBy(owner("a")), plain, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta.HaveSameController(tc.a, tc.b); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestNamespacedNameOf(t *testing.T) {
	for name, tc := range map[string]struct {
		ref  corev1.ObjectReference
		want types.NamespacedName
	}{
		"of a namespaced object (A20)": {
			corev1.ObjectReference{Namespace: "shop", Name: "orders", UID: "uid"}, types.NamespacedName{Namespace: "shop", Name: "orders"}},
		"of a cluster-scoped object (A20)": {corev1.ObjectReference{Kind: "Bucket", Name: "orders"}, types.NamespacedName{Name: "orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta.NamespacedNameOf(&tc.ref); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestExternalLabels(t *testing.T) {
	o := &metav1.ObjectMeta{Name: "myappnamespace-mynetwork-5sc8a", UID: "uid"}
	got := meta.GetExternalLabels(o, kind.GroupKind(), "aws-provider")
	t.Run("what they contain (P10, P11, P12, N23)", func(t *testing.T) {
		want := map[string]string{
			"crossplane-kind": "bucket.storage.example.org", "crossplane-name": "myappnamespace-mynetwork-5sc8a",
			"crossplane-provider": "aws-provider", "bowline-uid": "uid",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("the namespace of an object that has one (N48)", func(t *testing.T) {
		o.Namespace = "shop"
		if got := meta.GetExternalLabels(o, kind.GroupKind(), "aws-provider"); got["bowline-namespace"] != "shop" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("keys need neither dots nor slashes (P13)", func(t *testing.T) {
		for key := range got {
			if strings.ContainsAny(key, "./") {
				t.Errorf("key %q", key)
			}
		}
	})
}

func pair() (from, to *metav1.ObjectMeta) {
	from = &metav1.ObjectMeta{Namespace: "vault", Name: "source", UID: "s"}
	return from, &metav1.ObjectMeta{Namespace: "team", Name: "copy", UID: "c"}
}

func TestAllowPropagation(t *testing.T) {
	t.Parallel()
	from, to := pair()
	from.Annotations = map[string]string{"theirs": "stays"}
	meta.AllowPropagation(from, to)
	t.Run("annotations of the source (R290, A21)", func(t *testing.T) {
		want := map[string]string{"theirs": "stays", "to.propagate.crossplane.io/c": "team/copy"}
		if diff := cmp.Diff(want, from.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("annotations of the destination (R290, A21)", func(t *testing.T) {
		want := map[string]string{
			"from.propagate.crossplane.io/namespace": "vault",
			"from.propagate.crossplane.io/name":      "source",
			"from.propagate.crossplane.io/uid":       "s",
		}
		if diff := cmp.Diff(want, to.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("both agree (R289)", func(t *testing.T) {
		if !meta.PropagationAllowed(from, to) {
			t.Error("they do not")
		}
	})
}

func TestPropagationAllowed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(from, to *metav1.ObjectMeta){
		"neither has one (R289)":                  func(from, to *metav1.ObjectMeta) { from.Annotations, to.Annotations = nil, nil },
		"the destination alone has one (R289)":    func(from, _ *metav1.ObjectMeta) { from.Annotations = nil },
		"the source alone has one (R289)":         func(_, to *metav1.ObjectMeta) { to.Annotations = nil },
		"another source of that name (R289)":      func(from, _ *metav1.ObjectMeta) { from.UID = "x" },
		"another destination of that name (R289)": func(_, to *metav1.ObjectMeta) { to.UID = "x" },
		"a source of another name (R289)":         func(from, _ *metav1.ObjectMeta) { from.Name = "x" },
		"a source of another namespace (R289)":    func(from, _ *metav1.ObjectMeta) { from.Namespace = "x" },
		"a destination of another name (R289)":    func(_, to *metav1.ObjectMeta) { to.Name = "x" },
		"a destination in another place (R289)":   func(_, to *metav1.ObjectMeta) { to.Namespace = "x" },
		"no UID of the source (R289)":             func(_, to *metav1.ObjectMeta) { to.Annotations[meta.AnnotationKeyPropagateFromUID] = "" },
		"no UID on either side (R289)": func(from, to *metav1.ObjectMeta) {
			from.UID, to.Annotations[meta.AnnotationKeyPropagateFromUID] = "", ""
		},
		"consent that was taken back (R289)": func(from, to *metav1.ObjectMeta) { meta.ForbidPropagationTo(from, to.UID) },
		"a destination named half (R289)": func(from, _ *metav1.ObjectMeta) {
			from.Annotations[meta.AnnotationPrefixPropagateTo+"c"] = "copy"
		},
		"a destination without a namespace (R289)": func(from, _ *metav1.ObjectMeta) {
			from.Annotations[meta.AnnotationPrefixPropagateTo+"c"] = "/copy"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := pair()
			meta.AllowPropagation(from, to)
			change(from, to)
			if meta.PropagationAllowed(from, to) {
				t.Errorf("allowed from %v to %v", from, to)
			}
		})
	}
}

func TestPropagatesTo(t *testing.T) {
	t.Parallel()
	from, to := pair()
	other := &metav1.ObjectMeta{Namespace: "team", Name: "other", UID: "o"}
	meta.AllowPropagationTo(from, to)
	meta.AllowPropagationTo(from, other)
	from.Annotations["theirs"] = "stays"
	from.Annotations[meta.AnnotationPrefixPropagateTo] = "team/absent"
	t.Run("all destinations (R291)", func(t *testing.T) {
		want := map[types.UID]types.NamespacedName{"c": {Namespace: "team", Name: "copy"}, "o": {Namespace: "team", Name: "other"}}
		if diff := cmp.Diff(want, meta.PropagatesTo(from)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	meta.ForbidPropagationTo(from, to.UID)
	t.Run("all but one (R291)", func(t *testing.T) {
		want := map[types.UID]types.NamespacedName{"o": {Namespace: "team", Name: "other"}}
		if diff := cmp.Diff(want, meta.PropagatesTo(from)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if from.Annotations["theirs"] != "stays" {
			t.Errorf("annotations are %v", from.Annotations)
		}
	})
}

func TestPropagatedFrom(t *testing.T) {
	t.Parallel()
	from, to := pair()
	meta.AllowPropagationFrom(to, from)
	t.Run("the source (R290)", func(t *testing.T) {
		want := meta.PropagationSource{NamespacedName: types.NamespacedName{Namespace: "vault", Name: "source"}, UID: "s"}
		if got, ok := meta.PropagatedFrom(to); got != want || !ok {
			t.Errorf("got %v %v", got, ok)
		}
	})
}

// What a process that starts again makes of an object whose creation was cut off.
func Example() {
	o := &metav1.ObjectMeta{Name: "orders"}
	meta.SetExternalName(o, "orders-7f3a")
	meta.SetExternalCreatePending(o, time.Now())
	fmt.Println(meta.GetExternalName(o), meta.ExternalCreateIncomplete(o))

	meta.SetExternalCreateSucceeded(o, time.Now())
	fmt.Println(meta.GetExternalName(o), meta.ExternalCreateIncomplete(o))
	// Output:
	// orders-7f3a true
	// orders-7f3a false
}

func TestCheckRecreate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 500, time.UTC)
	for name, tc := range map[string]struct {
		value     string
		permitted bool
	}{
		"the UID (N38)":                      {"uid", true},
		"after the creation (N38)":           {"2026-01-01T11:00:01Z", true},
		"in another time zone (N38)":         {"2026-01-01T13:30:00+02:00", true},
		"now (N38)":                          {"2026-01-01T12:00:00Z", true},
		"at the creation (N38)":              {"2026-01-01T11:00:00Z", false},
		"within its second (N38)":            {"2026-01-01T11:00:00.9Z", false},
		"before it (N38)":                    {"2026-01-01T10:59:59Z", false},
		"in the future (N38)":                {"2026-01-01T12:00:01Z", false},
		"a date (N38)":                       {"2026-01-01", false},
		"true (N38)":                         {"true", false},
		"nothing (N38)":                      {"", false},
		"the UID of another object (N38)":    {"other", false},
		"in a time zone that is ahead (N38)": {"2026-01-01T12:30:00+02:00", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &metav1.ObjectMeta{UID: "uid", Annotations: map[string]string{
				meta.AnnotationKeyRecreate: tc.value, meta.AnnotationKeyExternalCreateSucceeded: "2026-01-01T11:00:00Z"}}
			if err := meta.CheckRecreate(o, now); (err == nil) != tc.permitted {
				t.Errorf("error %v, permitted %t", err, tc.permitted)
			}
		})
	}
	if meta.CheckRecreate(&metav1.ObjectMeta{Annotations: map[string]string{meta.AnnotationKeyRecreate: ""}}, now) == nil {
		t.Error("an object without UID permits it")
	}
}

func TestExternalCreateIncomplete(t *testing.T) {
	const early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	cases := map[string]struct {
		pending, succeeded, failed string
		incomplete, unacknowledged bool
	}{
		"never begun (R83)":                        {},
		"pending alone (R83)":                      {pending: early, incomplete: true, unacknowledged: true},
		"pending newer than succeeded (R82)":       {pending: late, succeeded: early, incomplete: true, unacknowledged: true},
		"pending newer than failed (R82)":          {pending: late, failed: early, incomplete: true, unacknowledged: true},
		"pending newer than both (R82)":            {pending: late, succeeded: early, failed: early, incomplete: true, unacknowledged: true},
		"pending equal to succeeded (R83)":         {pending: late, succeeded: late},
		"pending equal to failed (R83)":            {pending: late, failed: late, unacknowledged: true},
		"pending older than succeeded (R82)":       {pending: early, succeeded: late},
		"failed again after a success (R82)":       {pending: late, succeeded: early, failed: late, unacknowledged: true},
		"an annotation that a person emptied":      {pending: "", succeeded: early},
		"an annotation that is no time at all":     {pending: "soon", succeeded: early},
		"pending removed by a person (R86)":        {succeeded: late},
		"pending removed, nothing succeeded (R86)": {failed: late},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: map[string]string{
				meta.AnnotationKeyExternalCreatePending:   tc.pending,
				meta.AnnotationKeyExternalCreateSucceeded: tc.succeeded,
				meta.AnnotationKeyExternalCreateFailed:    tc.failed,
			}}
			if got := meta.ExternalCreateIncomplete(o); got != tc.incomplete {
				t.Errorf("incomplete: %t, want %t", got, tc.incomplete)
			}
			if got := meta.ExternalCreateUnacknowledged(o); got != tc.unacknowledged {
				t.Errorf("unacknowledged: %t, want %t", got, tc.unacknowledged)
			}
		})
	}
}

// Whatever the clock does, a creation that begins is newer than every result before it, and its own result is not
// older than it (N25).
func TestStampsKeepOrder(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 500, time.UTC)
	for name, step := range map[string]time.Duration{
		"within one second": 0, "clock set back": -time.Hour, "clock going on": time.Hour,
	} {
		t.Run(name+" (N25)", func(t *testing.T) {
			o, now := &metav1.ObjectMeta{UID: "uid"}, start
			for i := range 3 {
				meta.SetExternalCreatePending(o, now)
				if !meta.ExternalCreateIncomplete(o) {
					t.Fatalf("creation %d begins and is not seen as incomplete: %v", i, o.Annotations)
				}
				now = now.Add(step)
				if i%2 == 0 {
					meta.SetExternalCreateFailed(o, now)
				} else {
					meta.SetExternalCreateSucceeded(o, now)
				}
				if meta.ExternalCreateIncomplete(o) {
					t.Fatalf("creation %d has a result and is still seen as incomplete: %v", i, o.Annotations)
				}
				now = now.Add(step)
			}
		})
	}
}

// Each annotation has its key and holds a time to the second, in UTC, wherever the clock stands.
func TestCreationAnnotations(t *testing.T) {
	now := time.Date(2023, 12, 18, 22, 48, 6, 999, time.FixedZone("CET", 3600))
	for name, tc := range map[string]struct {
		key string
		set func(metav1.Object, time.Time)
		get func(metav1.Object) time.Time
	}{
		"pending (A21, R75, R76)":   {"crossplane.io/external-create-pending", meta.SetExternalCreatePending, meta.GetExternalCreatePending},
		"succeeded (A21, R75, R76)": {"crossplane.io/external-create-succeeded", meta.SetExternalCreateSucceeded, meta.GetExternalCreateSucceeded},
		"failed (A21, R75, R76)":    {"crossplane.io/external-create-failed", meta.SetExternalCreateFailed, meta.GetExternalCreateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{}
			if got := tc.get(o); !got.IsZero() {
				t.Errorf("before it is set it is %s", got)
			}
			tc.set(o, now)
			if diff := cmp.Diff(map[string]string{tc.key: "2023-12-18T21:48:06Z"}, o.Annotations); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := tc.get(o); !got.Equal(now.Truncate(time.Second)) {
				t.Errorf("reads %s, want %s", got, now)
			}
		})
	}
}

func TestCreationToken(t *testing.T) {
	o, now := &metav1.ObjectMeta{UID: "uid"}, time.Unix(1000, 0)
	first := meta.CreationToken(o)
	t.Run("until a creation succeeded the token stays (N22)", func(t *testing.T) {
		meta.SetExternalCreatePending(o, now)
		meta.SetExternalCreateFailed(o, now)
		meta.SetExternalCreatePending(o, now.Add(time.Minute))
		if again := meta.CreationToken(o); again != first || first != "uid" {
			t.Errorf("%q, then %q", first, again)
		}
	})
	t.Run("creating anew has a token of its own (N22)", func(t *testing.T) {
		meta.SetExternalCreateSucceeded(o, now.Add(time.Minute))
		second := meta.CreationToken(o)
		meta.SetExternalCreatePending(o, now.Add(time.Hour))
		if again := meta.CreationToken(o); second == first || again != second {
			t.Errorf("%q, %q, %q", first, second, again)
		}
	})
}
