// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// A sight is the state of all objects.
type sight struct {
	claims  []databasev1alpha1.PostgreSQLInstance
	servers []resource.BindableManaged // of the cloud
	tenants []resource.BindableManaged // of the shared server
	secrets int                        // connection Secrets on both sides
	bound   int
	leaving int    // claims and managed resources that are being deleted
	waiting string // why one claim is not bound
}

func (s sight) managed() []resource.BindableManaged {
	return append(s.servers[:len(s.servers):len(s.servers)], s.tenants...)
}

func (s sight) String() string {
	return fmt.Sprintf("%d of %d claims bound, %d managed resources, %d Secrets, %d objects being deleted", s.bound, len(s.claims),
		len(s.managed()), s.secrets, s.leaving)
}

func (c *crowd) list(ctx context.Context) (s sight, err error) {
	claims, tenants := &databasev1alpha1.PostgreSQLInstanceList{}, &sqlv1alpha1.TenantDatabaseList{}
	servers := &databasev1alpha3.FavouriteDBInstanceList{}
	if err := errors.Join(c.p.Client.List(ctx, claims), c.p.Client.List(ctx, servers), c.p.Client.List(ctx, tenants)); err != nil {
		return s, err
	}
	s.claims = claims.Items
	for i := range servers.Items {
		s.servers = append(s.servers, &servers.Items[i])
	}
	for i := range tenants.Items {
		s.tenants = append(s.tenants, &tenants.Items[i])
	}
	for _, mg := range s.managed() {
		if meta.WasDeleted(mg) {
			s.leaving++
		}
	}
	for _, claim := range claims.Items {
		if meta.WasDeleted(&claim) {
			s.leaving++
			continue
		}
		ready := claim.GetCondition(xpv1.TypeReady)
		if ready.Status == corev1.ConditionTrue && claim.Status.BindingPhase == xpv1.BindingPhaseBound {
			s.bound++
		} else {
			s.waiting = fmt.Sprintf("%s: %q, Ready %s %s", claim.Name, claim.Status.BindingPhase, ready.Reason, ready.Message)
		}
	}
	for _, namespace := range []string{vault, team} {
		list := &corev1.SecretList{}
		if err := c.p.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return s, err
		}
		for _, secret := range list.Items {
			if secret.Type == xpv1.SecretTypeConnection {
				s.secrets++
			}
		}
	}
	return s, nil
}

// settled waits a second, since it lists all objects, and logs the progress every five seconds.
func (c *crowd) settled(ctx context.Context, enough func(sight) bool) error {
	pause(ctx)
	s, err := c.list(ctx)
	if err != nil || enough(s) {
		return err
	}
	c.progress(s.String)
	return fmt.Errorf("%s; one that is not bound: %s", s, s.waiting)
}

func (c *crowd) allBound(ctx context.Context) error {
	return c.settled(ctx, func(s sight) bool { return s.bound == len(c.all) && s.leaving == 0 })
}

// judge counts objects and external resources.
func (c *crowd) judge() {
	c.t.Helper()
	s, err := c.list(c.t.Context())
	c.do(err)
	v := &c.verdict
	v.bound, v.managed = s.bound, len(s.managed())
	c.judgeManaged(s)
	have, err := c.cloud.Census(c.t.Context())
	c.do(err)
	missing, superfluous := inspect.Compare(have["database"], uids(s.servers))
	rooms, err := c.rooms(c.t.Context())
	c.do(err)
	empty, strange := inspect.Compare(rooms, names(s.tenants))
	v.databases = len(s.managed()) - missing - empty + superfluous + strange
	v.orphans += superfluous + strange + max(0, s.secrets-2*len(c.all))
	v.secrets = c.open(s)
}

// judgeManaged checks that each managed resource belongs to a claim of its own, and has the class of the claim.
func (c *crowd) judgeManaged(s sight) {
	claims, served := map[types.UID]string{}, map[types.UID]int{}
	for _, claim := range s.claims {
		claims[claim.UID] = claim.Spec.ClassSelector.MatchLabels["room"]
	}
	for _, mg := range s.managed() {
		of, class := mg.GetClaimReference(), mg.GetClassReference()
		room, known := "", false
		if of != nil {
			room, known = claims[of.UID]
		}
		switch {
		case !known:
			c.verdict.orphans++
			c.logf("%s belongs to no claim: %v", mg.GetName(), of)
			continue
		case class == nil || class.Name != room:
			c.t.Errorf("%s is of class %v, want %s", mg.GetName(), class, room)
		}
		if served[of.UID]++; served[of.UID] > 1 {
			c.verdict.doubled++
			c.logf("%s is not the only one of claim %s", mg.GetName(), of.Name)
		}
	}
}

// open opens the database of each claim with its Secret, and returns how many of them opened, with the same content in the Secret of
// the managed resource and a database of their own.
func (c *crowd) open(s sight) int {
	opened := atomic.Int64{}
	err := each(c.all, func(claim *databasev1alpha1.PostgreSQLInstance) error {
		b, err := inspect.Bound(c.t.Context(), c.p.Client, claim.DeepCopy())
		if err != nil {
			return fmt.Errorf("%s: %w", claim.Name, err)
		}
		conn, err := inspect.Connect(c.t.Context(), b.Copy.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", claim.Name, err)
		}
		defer conn.Close(c.t.Context())
		// It fails in the database of another claim.
		if _, err := conn.Exec(c.t.Context(), "create table mine ()"); err != nil {
			return fmt.Errorf("%s: %w", claim.Name, err)
		}
		opened.Add(1)
		return nil
	})
	if err != nil {
		c.t.Errorf("of %d claims: %v", len(s.claims), err)
	}
	return int(opened.Load())
}

// rooms returns the databases of the shared server, and the roles that may connect, by name. Both are named after their managed
// resource, so a pair counts once.
func (c *crowd) rooms(ctx context.Context) (map[types.UID]int, error) {
	login, err := c.p.Secret(ctx, plane.Namespace, "shared-server")
	if err != nil {
		return nil, err
	}
	secret := map[string][]byte{"database": []byte("postgres")}
	for key, value := range login {
		secret[key] = []byte(value)
	}
	conn, err := inspect.Connect(ctx, secret)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `select datname::text from pg_database where not datistemplate and datname <> 'postgres'
		union select rolname::text from pg_roles where rolcanlogin and not rolsuper`)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	rooms := map[types.UID]int{}
	for _, name := range found {
		rooms[types.UID(name)]++
	}
	return rooms, err
}

// leave deletes all claims, with a kill in between, and counts what is left.
func (c *crowd) leave() {
	c.t.Helper()
	deleted := make(chan error, 1)
	go func() {
		deleted <- each(c.all, func(claim *databasev1alpha1.PostgreSQLInstance) error {
			return c.insist(func(ctx context.Context) error { return c.p.Client.Delete(ctx, claim.DeepCopy()) }, isNotFound)
		})
	}()
	<-time.After(c.uptime())
	c.kill()
	c.do(<-deleted)
	c.p.Eventually(c.t, stormTime(len(c.all)), "all are deleted", func(ctx context.Context) error {
		return c.settled(ctx, func(s sight) bool { return len(s.claims)+len(s.managed())+s.secrets == 0 })
	})
	have, err := c.cloud.Census(c.t.Context())
	c.do(err)
	rooms, err := c.rooms(c.t.Context())
	c.do(err)
	c.verdict.left = len(have["database"]) + len(rooms) + len(c.p.Servers(c.t))
	c.logf("all claims are deleted, and %d things are left", c.verdict.left)
}

func isNotFound(err error) bool { return client.IgnoreNotFound(err) == nil }

func uids(of []resource.BindableManaged) (all []types.UID) {
	for _, mg := range of {
		all = append(all, mg.GetUID())
	}
	return all
}

func names(of []resource.BindableManaged) (all []types.UID) {
	for _, mg := range of {
		all = append(all, types.UID(meta.GetExternalName(mg)))
	}
	return all
}
