// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestPasswordThatDoesNotOpenTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inSQL := func(ctx context.Context, s server, password string) error {
		return w.inSQL(ctx, s, fmt.Sprintf("alter role postgres password '%s'", password))
	}
	inCloud := func(ctx context.Context, s server, password string) error {
		_, err := cache.NewClient(w.cloud).Update(ctx, meta.GetExternalName(s.object), cache.UpdateInstanceInput{Password: &password})
		return err
	}
	for name, tc := range map[string]struct {
		server server
		change func(ctx context.Context, s server, password string) error
	}{
		"database": {w.databaseServer("drifting-database"), inSQL},
		"cache":    {w.cacheServer("drifting-cache"), inCloud},
	} {
		t.Run("of a "+name+" (N53)", func(t *testing.T) {
			t.Parallel()
			w.start(t, tc.server)
			first := string(w.serves(t, tc.server, "")["password"])
			if err := tc.change(t.Context(), tc.server, "by-others"); err != nil {
				t.Fatal(err)
			}
			w.isOpened(t, tc.server, first)
			w.setPassword(t, tc.server, "patched-password")
			w.isOpened(t, tc.server, "patched-password")

			w.Change(t, tc.server.object, func() { tc.server.object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionObserve}) })
			w.setPassword(t, tc.server, "not-applied")
			w.hasDrift(t, tc.server.object, corev1.ConditionTrue)
			w.Change(t, tc.server.object, func() { tc.server.object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll}) })
			w.isOpened(t, tc.server, "not-applied")

			w.setPassword(t, tc.server, "short")
			w.hasDrift(t, tc.server.object, corev1.ConditionFalse)
			w.setPassword(t, tc.server, "")
			w.loses(t, tc.server.object)
			w.setPassword(t, tc.server, "another-password")
			w.isOpened(t, tc.server, "another-password")
			w.Remove(t, tc.server.object)
		})
	}
}

// TestChosenPasswordIsPublishedAgain has a Secret that somebody patched, and a former password that a deleted Secret must not bring back.
func TestChosenPasswordIsPublishedAgain_N53(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.cacheServer("chosen")
	chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "input"}, StringData: map[string]string{"password": "first-choice"}}
	w.Create(t, chosen)
	s.choose(chosen.Name)
	w.start(t, s)
	w.isOpened(t, s, "first-choice")
	w.setPassword(t, s, "patched-password")
	w.isOpened(t, s, "first-choice")
	w.setPassword(t, s, "")
	w.isOpened(t, s, "first-choice")
	w.Remove(t, s.object)
}

// inSQL runs a statement on a database server with the password in its connection Secret.
func (w *world) inSQL(ctx context.Context, s server, statement string) error {
	secret := &corev1.Secret{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: s.object.GetName()}, secret); err != nil {
		return err
	}
	conn, err := connectSQL(ctx, secret.Data)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// setPassword patches the connection Secret of a server.
func (w *world) setPassword(t *testing.T, s server, password string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: s.object.GetName()}}
	change := fmt.Appendf(nil, `{"stringData": {"password": %q}}`, password)
	if err := w.Client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, change)); err != nil {
		t.Fatal(err)
	}
}

// isOpened waits until the connection Secret has a password that opens the server, and the object is as declared and ready.
func (w *world) isOpened(t *testing.T, s server, password string) {
	t.Helper()
	w.serves(t, s, password)
	w.Eventually(t, "the object is ready and in sync", func(ctx context.Context) error {
		return w.inState(ctx, s.object, corev1.ConditionTrue, nil)
	})
}

var passwordDrift = []xpv1.FieldDifference{{Path: "password", Desired: "(sensitive)", Observed: "(sensitive)"}}

// hasDrift waits until an object reports its password. Condition Synced is False if the cloud refuses that.
func (w *world) hasDrift(t *testing.T, mg resource.Managed, synced corev1.ConditionStatus) {
	t.Helper()
	w.Eventually(t, "the object reports its password", func(ctx context.Context) error {
		if err := w.inState(ctx, mg, corev1.ConditionFalse, passwordDrift); err != nil {
			return err
		}
		if got := mg.GetCondition(xpv1.TypeSynced); got.Status != synced || strings.Contains(got.Message, "short") {
			return fmt.Errorf("Synced: %+v", got)
		}
		return nil
	})
}

func (w *world) inState(ctx context.Context, mg resource.Managed, ready corev1.ConditionStatus, want []xpv1.FieldDifference) error {
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
		return err
	}
	inSync := corev1.ConditionTrue
	if want != nil {
		inSync = corev1.ConditionFalse
	}
	drift := mg.(resource.Drifting).GetDrift()
	if mg.GetCondition(xpv1.TypeReady).Status != ready || mg.GetCondition(xpv1.TypeInSync).Status != inSync || !cmp.Equal(want, drift) {
		return fmt.Errorf("drift %v, conditions %+v, %+v", drift, mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeInSync))
	}
	return nil
}

// loses waits until an object reports that its connection Secret has no password.
func (w *world) loses(t *testing.T, mg resource.Managed) {
	t.Helper()
	w.Eventually(t, "the object reports the lost password", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if ready := mg.GetCondition(xpv1.TypeReady); ready.Reason != failure.ConnectionDetailsLost {
			return fmt.Errorf("Ready: %+v", ready)
		}
		return nil
	})
}
