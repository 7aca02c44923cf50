// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
)

// login is a role whose connection Secret has its name.
func (w *world) newLogin(t *testing.T, name string, change ...func(*namespacedv1alpha1.Role)) *namespacedv1alpha1.Role {
	t.Helper()
	role := &namespacedv1alpha1.Role{ObjectMeta: named(name)}
	role.Spec.ForProvider.Login = ptr.To(true)
	role.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: name}
	for _, f := range change {
		f(role)
	}
	w.create(t, role)
	return role
}

// requestRotation requests new credentials for objects at the first whole second after those that they have.
func (w *world) requestRotation(t *testing.T, all ...resource.Managed) (at time.Time) {
	t.Helper()
	for _, o := range all {
		last := meta.GetExternalCreateSucceeded(o)
		if rotated := credentials(o).LastRotationTime; !rotated.IsZero() {
			last = rotated.Time
		}
		if !at.After(last) {
			at = last.Truncate(time.Second).Add(time.Second)
		}
	}
	for _, o := range all {
		before, _ := o.DeepCopyObject().(client.Object)
		meta.SetRotateCredentialsAt(o, at)
		if err := w.Client.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// rotated waits until an object has the credentials of a request.
func (w *world) rotated(t *testing.T, o resource.Managed, at time.Time) {
	t.Helper()
	w.Eventually(t, o.GetName()+" has new credentials", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if last := credentials(o).LastRotationTime; last.IsZero() || last.Time.Before(at) {
			return fmt.Errorf("they were rotated at %v, not %v: %v", last, at, o.GetCondition(xpv1.TypeSynced))
		}
		return nil
	})
}

func credentials(o resource.Managed) xpv1.CredentialsStatus {
	switch o := o.(type) {
	case *namespacedv1alpha1.Role:
		return o.Status.Credentials
	case *v1alpha1.TenantDatabase:
		return o.Status.Credentials
	}
	return xpv1.CredentialsStatus{}
}

// countEvents counts the events of an object by their reasons.
func (w *world) countEvents(t *testing.T, o client.Object, reason event.Reason) (n int) {
	t.Helper()
	events := &corev1.EventList{}
	if err := w.Client.List(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if e.InvolvedObject.UID == o.GetUID() && e.Reason == string(reason) {
			n += int(max(e.Count, 1))
		}
	}
	return n
}

// opensOnly checks that a connection Secret opens a session, and a former password does not.
func (w *world) opensOnly(t *testing.T, name string, former []byte) {
	t.Helper()
	secret := w.secret(t, name)
	if err := w.open(t, secret, "postgres"); err != nil {
		t.Errorf("%s: the connection Secret does not open a session: %v", name, err)
	}
	if _, pends := secret["password.pending"]; pends || string(secret["password"]) == string(former) {
		t.Errorf("%s: the password did not change, or another one is pending: %t", name, pends)
	}
	if _, err := w.session(t, name, string(former), "postgres"); err == nil {
		t.Errorf("%s: the former password opens a session", name)
	}
}

// refusedRotation is part of an update that the server refuses for a while: the former password works until the new one is in the Secret.
func refusedRotation(t *testing.T, w *world) {
	tenant := w.tenants(t, "rotation-refused")[0]
	secret := w.secret(t, tenant.Name)
	holder, err := w.session(t, tenant.Name, string(secret["password"]), tenant.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"BEGIN", fmt.Sprintf("ALTER DATABASE %q CONNECTION LIMIT 9", tenant.Name)} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	w.merge(t, tenant, `{"spec":{"forProvider":{"connectionLimit":5}}}`)
	at := w.requestRotation(t, tenant)
	w.reports(t, tenant, "rotating the credentials")
	if err := w.open(t, secret, "postgres"); err != nil {
		t.Errorf("the connection Secret while the rotation is refused: %v", err)
	}
	if err := holder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.rotated(t, tenant, at)
	w.opensOnly(t, tenant.Name, secret["password"])
}

// rotation gives roles and tenants new credentials, once for each request.
func rotation(t *testing.T, w *world) {
	all := []resource.Managed{w.newLogin(t, "rotated-role"), w.newTenant(t, "rotated-tenant")}
	w.Settled(t, all...)
	former := map[string][]byte{}
	for _, o := range all {
		former[o.GetName()] = w.secret(t, o.GetName())["password"]
	}
	at := w.requestRotation(t, all...)
	for _, o := range all {
		w.rotated(t, o, at)
		w.Settled(t, o)
		w.opensOnly(t, o.GetName(), former[o.GetName()])
		w.Eventually(t, "one event reports the rotation", func(context.Context) error {
			if n := w.countEvents(t, o, managed.ReasonRotated); n != 1 {
				return fmt.Errorf("%s: %d events", o.GetName(), n)
			}
			return nil
		})
		if n := w.countEvents(t, o, managed.ReasonDrifted); n != 0 {
			t.Errorf("%s: a rotation is reported as drift", o.GetName())
		}
	}
}

// interruptedRotation left a pending password, before or after the server got it.
func interruptedRotation(t *testing.T, w *world) {
	all := []resource.Managed{w.newTenant(t, "pending-before"), w.newTenant(t, "pending-after"), w.newLogin(t, "pending-role")}
	w.Settled(t, all...)
	for _, o := range all {
		former := w.secret(t, o.GetName())["password"]
		if o.GetName() == "pending-after" {
			w.executes(t, o.GetName(), "postgres", "ALTER ROLE current_user PASSWORD 'pending'")
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: o.GetName()}}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"stringData":{"password.pending":"pending"}}`,
			meta.AnnotationKeyCredentialsRotatedAt, time.Now().UTC().Format(time.RFC3339))
		if err := w.Client.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		w.Eventually(t, o.GetName()+" uses what was pending", func(context.Context) error {
			if data := w.secret(t, o.GetName()); string(data["password"]) != "pending" || len(data["password.pending"]) > 0 {
				return errors.New("it does not")
			}
			return nil
		})
		w.opensOnly(t, o.GetName(), former)
		w.Settled(t, o)
	}
}

// chosenPassword is the user's to change.
func chosenPassword(t *testing.T, w *world) {
	w.create(t, &corev1.Secret{ObjectMeta: named("own-password"), StringData: map[string]string{"password": "my own password"}})
	role := w.newLogin(t, "own-role", func(o *namespacedv1alpha1.Role) {
		o.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Name: "own-password", Key: "password"}
	})
	w.Settled(t, role)
	w.requestRotation(t, role)
	w.reports(t, role, "spec.forProvider.passwordSecretRef")
	if got := xpv1.FailureOf(role).Reason; got != failure.RotationImpossible {
		t.Errorf("reason %s", got)
	}
	if err := w.open(t, w.secret(t, role.Name), "postgres"); err != nil {
		t.Error(err)
	}
}

// A tenantClient connects again and again with the present password of its Secret.
type tenantClient struct {
	name     string
	sessions atomic.Int32
	refused  []string // passwords since the last session
	most     int      // of them at a time
	last     error
}

// use connects until the context ends, never more than a few clients at a time.
func (c *tenantClient) use(ctx context.Context, w *world, slots chan struct{}) {
	for ctx.Err() == nil {
		slots <- struct{}{}
		password, err := c.connect(ctx, w)
		<-slots
		switch {
		case ctx.Err() != nil:
		case err == nil:
			c.refused = nil
			c.sessions.Add(1)
		case !slices.Contains(c.refused, password):
			c.refused, c.last = append(c.refused, password), err
			c.most = max(c.most, len(c.refused))
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (c *tenantClient) connect(ctx context.Context, w *world) (password string, err error) {
	secret := &corev1.Secret{}
	if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: c.name}, secret); err != nil {
		return "", err
	}
	password = string(secret.Data["password"])
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%s sslmode=disable", secret.Data["endpoint"], secret.Data["port"]))
	if err != nil {
		return password, err
	}
	config.User, config.Password, config.Database = c.name, password, c.name
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return password, err
	}
	_, err = conn.Exec(ctx, "SELECT 1")
	return password, errors.Join(err, conn.Close(ctx))
}

// Clients that connect while the credentials of all tenants are rotated twice are refused one password at most before they succeed.
// ROTATION_DATABASES is the number of tenants.
func TestTenantRotationUnderLoad_N50(t *testing.T) {
	t.Parallel()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("ROTATION_DATABASES"), "8"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, managed.WithPollInterval(10*time.Second))
	var all []resource.Managed
	clients := make([]*tenantClient, n)
	for i := range clients {
		clients[i] = &tenantClient{name: fmt.Sprintf("load-%d", i)}
		all = append(all, w.newTenant(t, clients[i].name))
	}
	w.Settled(t, all...)
	ctx, stop := context.WithCancel(t.Context())
	slots := make(chan struct{}, 15) // of the connections of the server
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() { c.use(ctx, w, slots) })
	}
	for range 2 {
		at := w.requestRotation(t, all...)
		for _, o := range all {
			w.rotated(t, o, at)
		}
		t.Logf("%d rotations in %s", n, time.Since(at).Round(time.Millisecond))
		for _, c := range clients {
			before := c.sessions.Load()
			w.Eventually(t, c.name+" connects after the rotation", func(context.Context) error { // the first session may be one from before
				if now := c.sessions.Load(); now < before+2 {
					return fmt.Errorf("%d sessions more", now-before)
				}
				return nil
			})
		}
	}
	stop()
	running.Wait()
	sessions, refused := int32(0), 0
	for _, c := range clients {
		sessions += c.sessions.Load()
		refused += c.most
		if c.most > 1 || len(c.refused) > 0 {
			t.Errorf("%s: %d passwords were refused in a row, %d of them at the end: %v", c.name, c.most, len(c.refused), c.last)
		}
	}
	t.Logf("%d sessions of %d clients, %d of which were refused a password", sessions, n, refused)
}
