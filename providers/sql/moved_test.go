// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// leads has the Secret of the ProviderConfig lead to a server.
func (w *world) leads(t *testing.T, to postgresql.Config) {
	t.Helper()
	desired := w.login("server", to)
	secret := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(desired), secret); err != nil {
		t.Fatal(err)
	}
	secret.StringData = desired.StringData
	if err := w.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// A ProviderConfig that leads to another server neither doubles databases nor has them forgotten with their logins.
func TestSwapOfServers_N55(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := postgresqltest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
	})
	tenants := w.tenants(t, "stays", "ends", "orphan")
	stays, ends, orphan := tenants[0], tenants[1], tenants[2]
	in := stays.Status.ExternalSystem
	w.leads(t, other.Config())
	for _, o := range tenants {
		w.stalled(t, o, failure.ExternalSystemChanged, "ask your platform team")
		w.reports(t, o, "was last seen in external system "+in.String())
		if ready := o.GetCondition(xpv1.TypeReady); ready.Status != corev1.ConditionUnknown {
			t.Errorf("%s is Ready %s (%s)", o.Name, ready.Status, ready.Reason)
		}
	}
	for _, o := range []client.Object{ends, orphan} {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.reports(t, ends, meta.AnnotationKeyOrphanOnDelete)
	permission := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: "true"}}}`, meta.AnnotationKeyOrphanOnDelete)
	if err := w.Client.Patch(t.Context(), orphan, client.RawPatch(types.MergePatchType, permission)); err != nil {
		t.Fatal(err)
	}
	w.Remove(t, orphan)
	if _, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: orphan.Name}); err != nil {
		t.Errorf("the orphan: %v", err)
	}
	w.leads(t, w.postgres.Config())
	w.gone(t, ends)
	w.Settled(t, stays)
	w.executes(t, stays.Name, stays.Name, "SELECT")
	if log, err := other.Log(); err != nil || strings.Contains(log, "CREATE DATABASE") {
		t.Errorf("the other server: %v\n%s", err, log)
	}
}
