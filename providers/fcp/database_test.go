// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// chosenPassword has a real server whose password is the one that a Secret says, and follows it.
func chosenPassword(t *testing.T) {
	w := newWorld(t, managed.WithSecretInputInterval(time.Second))
	chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "chosen"}, StringData: map[string]string{"password": "first-choice"}}
	w.Create(t, chosen)
	db := &databasev1alpha3.FavouriteDBInstance{
		ObjectMeta: metav1.ObjectMeta{Name: w.Prefix + "db"},
	}
	db.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	db.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: "connection"}
	db.Spec.ForProvider.FancinessLevel = 10
	db.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: "chosen", Key: "password"}
	w.Create(t, db)
	w.Settled(t, db)
	w.Eventually(t, "the first password opens the server (P61, P64)", func(ctx context.Context) error { return w.opens(ctx, "first-choice") })
	if db.Spec.ForProvider.Version == nil || *db.Spec.ForProvider.Version != db.Status.AtProvider.Version {
		t.Errorf("version %v, want %q (R150)", db.Spec.ForProvider.Version, db.Status.AtProvider.Version)
	}

	chosen.StringData = map[string]string{"password": "second-choice"}
	if err := w.Client.Update(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the second password opens the server (P61, R221)", func(ctx context.Context) error { return w.opens(ctx, "second-choice") })
	w.Remove(t, db) // before the Secret that it refers to
}

// opens returns nil if the connection Secret holds the password and the server accepts it.
func (w *world) opens(ctx context.Context, password string) error {
	secret := &corev1.Secret{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "connection"}, secret); err != nil {
		return err
	}
	if string(secret.Data["password"]) != password {
		return errors.New("the connection Secret has another password")
	}
	u := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(string(secret.Data["username"]), password),
		Host:   net.JoinHostPort(string(secret.Data["endpoint"]), string(secret.Data["port"])),
		Path:   "postgres",
	}
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}
