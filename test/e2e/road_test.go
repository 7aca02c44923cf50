// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the real program from YAML to a running PostgreSQL and back, with and without mistakes of users.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/test/plane"
)

// within bounds every wait for something that takes seconds.
const within = time.Minute

// From YAML to a running server and back (scenario 1 of the contract's annex C).
func TestRoad(t *testing.T) {
	t.Parallel()
	p := plane.New(t, "--poll-interval=2s")
	p.Up(t)
	key := p.NewKey(t, plane.Project)
	p.Connect(t, "default", key)
	r := &road{Plane: p, states: follow(t, p, &databasev1alpha3.FavouriteDBInstanceList{}), cloud: p.Inspect(t, key).Databases}
	for _, leg := range []struct {
		name string
		walk func(*testing.T)
	}{
		{"created (R51, R52, R62, R63, R75, R77, R79, R180, R181, R184)", r.create},
		{"published (R207, R211, R213, T22)", r.published},
		{"updated (R24, R36)", r.update},
		{"changed outside and reverted (R40, R137, R224)", r.revert},
		{"deleted (R53, R54, R55, R182)", r.delete},
	} {
		if !t.Run(leg.name, leg.walk) {
			return
		}
	}
}

// A road is one database from creation to deletion.
type road struct {
	*plane.Plane

	states *journal
	cloud  *database.Client
}

// create checks what is stored before the request to the cloud, and with its result.
func (r *road) create(t *testing.T) {
	r.Create(t, plane.Database("orders", 50))
	works(t, r.Plane, "orders")
	begun := r.states.must(t, r.Plane, "creation begins", func(e entry) bool { return !meta.GetExternalCreatePending(e).IsZero() })
	if !meta.FinalizerExists(begun, managed.Finalizer) || meta.GetExternalName(begun) != "orders" || !meta.ExternalCreateIncomplete(begun) {
		t.Errorf("when creation begins, the object has %v, %v", begun.GetFinalizers(), begun.GetAnnotations())
	}
	ended := r.states.must(t, r.Plane, "creation succeeded", func(e entry) bool { return !meta.GetExternalCreateSucceeded(e).IsZero() })
	creating := r.states.must(t, r.Plane, "Creating is shown", func(e entry) bool { return e.is("orders", xpv1.ReasonCreating) })
	usable := r.states.must(t, r.Plane, "Available is shown", func(e entry) bool { return e.is("orders", xpv1.ReasonAvailable) })
	if begun.version(t) >= ended.version(t) || creating.version(t) >= usable.version(t) {
		t.Errorf("begun at %d, ended at %d, Creating at %d, Available at %d: not in this order", begun.version(t), ended.version(t),
			creating.version(t), usable.version(t))
	}
}

// published checks the Secret, which works already, and what kubectl shows.
func (r *road) published(t *testing.T) {
	secret := &corev1.Secret{}
	if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: plane.Namespace, Name: "orders"}, secret); err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(secret.Data))
	if diff := cmp.Diff([]string{"database", "endpoint", "password", "port", "username"}, keys); diff != "" {
		t.Errorf("keys of the Secret -want +got:\n%s", diff)
	}
	if owner := metav1.GetControllerOf(secret); owner == nil || owner.Name != "orders" || owner.Kind != databasev1alpha3.FavouriteDBInstanceKind {
		t.Errorf("the Secret is controlled by %+v", owner)
	}
	columns(t, r.Plane, "orders")
}

func (r *road) update(t *testing.T) {
	setFanciness(t, r.Plane, "orders", 80)
	works(t, r.Plane, "orders")
}

func (r *road) revert(t *testing.T) {
	level := 20
	if _, err := r.cloud.Update(t.Context(), "orders", database.UpdateInstanceInput{FancinessLevel: &level}); err != nil {
		t.Fatal(err)
	}
	r.Eventually(t, within, "the change behind our back takes effect", func(ctx context.Context) error {
		return maxConnections(ctx, r.Plane, "orders", "20")
	})
	works(t, r.Plane, "orders") // at 80 again
}

// delete checks that the object stays until nothing is left of the server.
func (r *road) delete(t *testing.T) {
	servers := r.Servers(t)
	if len(servers) != 1 {
		t.Fatalf("servers: %v, want one", servers)
	}
	if err := r.Client.Delete(t.Context(), plane.Database("orders", 0)); err != nil {
		t.Fatal(err)
	}
	r.Eventually(t, within, "object and secret are deleted", func(ctx context.Context) error { return r.Gone(ctx, "orders") })
	if left := r.Servers(t); len(left) != 0 {
		t.Errorf("servers left: %v", left)
	}
	if _, err := os.Stat(servers[0].Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder %s is left: %v", servers[0].Data, err)
	}
	waiting := r.states.must(t, r.Plane, "Deleting is shown", func(e entry) bool { return e.is("orders", xpv1.ReasonDeleting) })
	if !meta.WasDeleted(waiting) || !meta.FinalizerExists(waiting, managed.Finalizer) {
		t.Errorf("while the cloud deletes, the object has %v, deleted at %v", waiting.GetFinalizers(), waiting.GetDeletionTimestamp())
	}
	end := r.states.must(t, r.Plane, "the object is deleted", func(e entry) bool { return e.deleted })
	if waiting.version(t) >= end.version(t) {
		t.Error("the object was deleted before the server")
	}
}

// What exists already and belongs to nothing of Bowline is adopted only on request.
func adopted(t *testing.T, s *stage) {
	p, cloud := s.Plane, s.cloud.Databases
	if _, err := cloud.Create(t.Context(), database.CreateInstanceInput{Name: "legacy", FancinessLevel: 20}); err != nil {
		t.Fatal(err)
	}
	p.Create(t, plane.Database("legacy", 30))
	reportsFailure(t, p, "legacy", failure.ExternalNameTaken, "crossplane.io/external-name: legacy")

	annotate(t, p, "legacy", meta.AnnotationKeyExternalName, "legacy")
	p.Eventually(t, within, "the instance is adopted and kept as declared", func(ctx context.Context) error {
		have, err := cloud.Get(ctx, "legacy")
		if err != nil {
			return err
		}
		if have.FancinessLevel != 30 || have.Labels[meta.ExternalLabelUID] == "" {
			return fmt.Errorf("fanciness %d, labels %v", have.FancinessLevel, have.Labels)
		}
		return nil
	})
}

func works(t *testing.T, p *plane.Plane, name string) {
	t.Helper()
	p.Eventually(t, within, name+" works", func(ctx context.Context) error { return p.Works(ctx, name) })
}

func maxConnections(ctx context.Context, p *plane.Plane, name, want string) error {
	level, err := p.MaxConnections(ctx, name)
	if err != nil {
		return err
	}
	if level != want {
		return fmt.Errorf("max_connections is %s, want %s", level, want)
	}
	return nil
}

func setFanciness(t *testing.T, p *plane.Plane, name string, level int) {
	t.Helper()
	patch(t, p, plane.Database(name, 0), fmt.Sprintf(`{"spec":{"forProvider":{"fancinessLevel":%d}}}`, level))
}

func annotate(t *testing.T, p *plane.Plane, name, key, value string) {
	t.Helper()
	patch(t, p, plane.Database(name, 0), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

func patch(t *testing.T, p *plane.Plane, o client.Object, merge string) {
	t.Helper()
	if err := p.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		t.Fatal(err)
	}
}

// reportsFailure waits until the database reports a failure for that reason, and condition Synced and an event have messages of the
// given parts.
func reportsFailure(t *testing.T, p *plane.Plane, name string, reason failure.Reason, parts ...string) {
	t.Helper()
	db := &databasev1alpha3.FavouriteDBInstance{}
	p.Eventually(t, within, name+" reports "+string(reason), func(ctx context.Context) error {
		if err := p.Client.Get(ctx, client.ObjectKey{Name: name}, db); err != nil {
			return err
		}
		synced := db.GetCondition(xpv1.TypeSynced)
		if got := xpv1.FailureOf(db).Reason; got != reason || synced.Reason != xpv1.ReasonReconcileError {
			return fmt.Errorf("reasons %s and %s: %s", got, synced.Reason, synced.Message)
		}
		return contains(synced.Message, parts)
	})
	p.Eventually(t, within, "an event about "+name+" reports it too", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := p.Client.List(ctx, events, client.InNamespace(plane.Namespace)); err != nil {
			return err
		}
		err := fmt.Errorf("no Warning about %s", name)
		for _, e := range events.Items {
			if e.InvolvedObject.UID == db.UID && e.Type == corev1.EventTypeWarning {
				if err = contains(e.Message, parts); err == nil {
					return nil
				}
			}
		}
		return err
	})
}

func contains(text string, parts []string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("want %q in %q", part, text)
		}
	}
	return nil
}

// columns checks what kubectl prints (T22).
func columns(t *testing.T, p *plane.Plane, name string) {
	t.Helper()
	out, err := p.Run(t.Context(), "kubectl", "get", "favouritedbinstances")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(out, "\n")
	if got := strings.Fields(lines[0]); strings.Join(got, " ") != "NAME READY SYNCED EXTERNAL-NAME AGE" {
		t.Errorf("columns %v", got)
	}
	if got := strings.Fields(lines[1]); len(got) != 5 || strings.Join(got[:4], " ") != name+" True True "+name {
		t.Errorf("row %v", got)
	}
}

// An entry is one state of an object.
type entry struct {
	resource.Managed

	at      time.Time // when it came to our ears
	deleted bool      // it was the last
}

// A journal holds all states of some objects, in order.
type journal struct {
	mu      sync.Mutex
	entries []entry
}

// follow keeps a journal of the objects of one kind until the test ends.
func follow(t *testing.T, p *plane.Plane, list client.ObjectList, o ...client.ListOption) *journal {
	t.Helper()
	events, err := p.Client.Watch(t.Context(), list, o...)
	if err != nil {
		t.Fatal(err)
	}
	j, done := &journal{}, make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			if mg, ok := e.Object.(resource.Managed); ok {
				j.add(entry{Managed: mg, at: time.Now(), deleted: e.Type == watch.Deleted})
			}
		}
	}()
	t.Cleanup(func() {
		events.Stop()
		<-done
	})
	return j
}

func (j *journal) add(e entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
}

// first returns the first state that is so.
func (j *journal) first(so func(entry) bool) (entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.entries {
		if so(e) {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("none of %d states is so", len(j.entries))
}

// must is first for what is certain to come.
func (j *journal) must(t *testing.T, p *plane.Plane, what string, so func(entry) bool) (e entry) {
	t.Helper()
	p.Eventually(t, within, what, func(context.Context) (err error) {
		e, err = j.first(so)
		return err
	})
	return e
}

// version orders the states of all objects.
func (e entry) version(t *testing.T) int {
	t.Helper()
	v, err := strconv.Atoi(e.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (e entry) is(name string, reason xpv1.ConditionReason) bool {
	return e.GetName() == name && e.GetCondition(xpv1.TypeReady).Reason == reason
}

func awaitSettled(t *testing.T, p *plane.Plane, all ...resource.Managed) {
	t.Helper()
	for _, mg := range all {
		p.Eventually(t, within, mg.GetName()+" is settled", func(ctx context.Context) error { return p.Settled(ctx, mg) })
	}
}
