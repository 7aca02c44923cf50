// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
)

// Limits that the server cannot keep together are refused, also if they are wanted at the same time: it has 100 connections, of which 3 are
// for superusers and 10 for the provider.
func TestRoomOfTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large := &namespacedv1alpha1.Database{ObjectMeta: named("large")}
	large.Spec.ForProvider.ConnectionLimit = ptr.To(100000)
	role := teamRole("large", func(p *v1alpha1.RoleParameters) { p.ConnectionLimit = ptr.To(100000) })
	owned := teamDatabase("owned-by-large", role.Name)
	owned.Spec.ForProvider.ConnectionLimit = ptr.To(100000)
	shared := w.shared(t, "room")
	for _, o := range []resource.Managed{role, large, owned} {
		w.through(t, shared.Name, o)
		w.Settled(t, o)
	}
	var all []*v1alpha1.TenantDatabase
	for i := range 5 {
		o := w.newTenant(t, fmt.Sprintf("thirty-%d", i), func(o *v1alpha1.TenantDatabase) { o.Spec.ForProvider.ConnectionLimit = ptr.To(30) })
		all = append(all, o)
	}
	served := func(what string, want int) (refused *v1alpha1.TenantDatabase) {
		t.Helper()
		w.Eventually(t, what, func(ctx context.Context) error {
			n := 0
			for _, o := range all {
				if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
					return err
				}
				if failed := xpv1.FailureOf(o); o.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
					n++
				} else if refused = o; failed.Reason != failure.QuotaExceeded || !strings.Contains(failed.Message, "no room for a database with 30") {
					return fmt.Errorf("%s: %+v", o.Name, failed)
				}
			}
			if n != want {
				return fmt.Errorf("%d of %d are ready, want %d", n, len(all), want)
			}
			return nil
		})
		return refused
	}
	t.Run("the sum of the limits, but not of those that teams chose (N77)", func(t *testing.T) {
		refused := served("two fit", 2)
		for _, o := range all {
			if o.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
				w.merge(t, o, `{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyReconciliationPaused) // nothing is reverted
				defer w.merge(t, o, `{"metadata":{"annotations":{%q:null}}}`, meta.AnnotationKeyReconciliationPaused)
				w.executes(t, o.Name, o.Name, fmt.Sprintf("ALTER DATABASE %q CONNECTION LIMIT 262143", o.Name))
			}
		}
		if message := refused.GetCondition(xpv1.TypeSynced).Message; !strings.Contains(message, "has 87 for databases, of which the limits of others promise 60") {
			t.Errorf("the message is %q", message)
		}
		w.Change(t, refused, func() { refused.Spec.ForProvider.ConnectionLimit = ptr.To(27) })
		served("a smaller one fits", 3)
	})
	t.Run("a limit that comes later (N77)", func(t *testing.T) {
		o := w.newTenant(t, "unlimited", func(*v1alpha1.TenantDatabase) {})
		w.Settled(t, o)
		w.merge(t, o, `{"spec":{"forProvider":{"connectionLimit":88}}}`)
		w.Eventually(t, "it is refused", func(ctx context.Context) error {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			if failed := xpv1.FailureOf(o); err == nil && failed.Reason != failure.QuotaExceeded {
				err = fmt.Errorf("failure %+v", failed)
			}
			return err
		})
		w.hasLimit(t, o.Name, -1)
	})
	t.Run("admission names the greatest limit (K15)", func(t *testing.T) {
		before := all[0].DeepCopy()
		all[0].Spec.ForProvider.ConnectionLimit = ptr.To(1 << 20)
		if err := w.Client.Patch(t.Context(), all[0], client.MergeFrom(before)); err == nil || !strings.Contains(err.Error(), "less than or equal to 262143") {
			t.Errorf("%v", err)
		}
	})
}
