// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"hash/crc32"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// unfinishedDatabases are as CREATE DATABASE leaves them. Those that differ in anything belong to others.
func unfinishedDatabases(t *testing.T, w *world) {
	interrupted := func(name string, change func(*postgresql.Database)) *v1alpha1.Database {
		t.Helper()
		d := &v1alpha1.Database{ObjectMeta: named(name)}
		d.Finalizers, d.Annotations = []string{managed.Finalizer}, map[string]string{
			meta.AnnotationKeyReconciliationPaused: "true", meta.AnnotationKeyExternalName: name,
			meta.AnnotationKeyExternalCreatePending: time.Now().Add(-time.Minute).UTC().Format(time.RFC3339),
		}
		w.create(t, d)
		limit := 1<<30 + int(crc32.ChecksumIEEE([]byte(d.UID))%(1<<30))
		bare := postgresql.Database{Name: name, AllowConnections: ptr.To(false), ConnectionLimit: &limit}
		change(&bare)
		if _, err := postgresql.Create(t.Context(), w.server, bare); err != nil {
			t.Fatal(err)
		}
		return d
	}
	resume := func(d *v1alpha1.Database) {
		t.Helper()
		w.merge(t, d, `{"metadata":{"annotations":{%q:null}}}`, meta.AnnotationKeyReconciliationPaused)
	}
	have := func(d *v1alpha1.Database) (*postgresql.Database, error) {
		return postgresql.Get(t.Context(), w.server, postgresql.Database{Name: d.Name})
	}
	own := interrupted("unfinished", func(*postgresql.Database) {})
	resume(own)
	w.Settled(t, own)
	is, err := have(own)
	if err != nil || is.Labels[meta.ExternalLabelUID] != string(own.UID) || !*is.AllowConnections || *is.ConnectionLimit != -1 {
		t.Errorf("got %+v, %v", is, err)
	}
	if p := own.Spec.ForProvider; ptr.Deref(p.ConnectionLimit, -1) != -1 || !ptr.Deref(p.AllowConnections, true) {
		t.Errorf("spec.forProvider took over %+v", p)
	}

	deleted := interrupted("unfinished-deleted", func(*postgresql.Database) {})
	if err := w.Client.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	resume(deleted)
	w.Eventually(t, "the object is deleted", testkit.Gone(w.Client, deleted))
	if _, err := have(deleted); !postgresql.IsNotFound(err) {
		t.Errorf("the database of a deleted object: %v", err)
	}

	for name, change := range map[string]func(*postgresql.Database){
		"limited":  func(d *postgresql.Database) { *d.ConnectionLimit-- },
		"open":     func(d *postgresql.Database) { *d.AllowConnections = true },
		"labelled": func(d *postgresql.Database) { d.Labels = map[string]string{meta.ExternalLabelUID: "another"} },
	} {
		foreign := interrupted("unfinished-"+name, change)
		before, _ := have(foreign)
		resume(foreign)
		w.reports(t, foreign, "exists already and")
		w.Remove(t, foreign)
		if after, err := have(foreign); !cmp.Equal(before, after) {
			t.Errorf("the database of somebody else (-before +after), error %v:\n%s", err, cmp.Diff(before, after))
		}
	}
}
