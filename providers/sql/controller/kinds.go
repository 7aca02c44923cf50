// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller defines the kinds of provider sql by package kind. server.go has their client, and classifies its errors.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// Kinds returns all kinds in all scopes.
func Kinds() []provider.Kind {
	on := system(servers())
	return slices.Concat(
		kind.Serve(on, databases(), &v1alpha1.Database{}, &namespacedv1alpha1.Database{}),
		kind.Serve(on, roles(), &v1alpha1.Role{}, &namespacedv1alpha1.Role{}),
		kind.Serve(on, schemas(), &v1alpha1.Schema{}, &namespacedv1alpha1.Schema{}),
		kind.Serve(on, extensions(), &v1alpha1.Extension{}, &namespacedv1alpha1.Extension{}),
		kind.Serve(on, tenantDatabases(), &v1alpha1.TenantDatabase{}),
		kind.Serve(on, grants(), &v1alpha1.Grant{}, &namespacedv1alpha1.Grant{}),
	)
}

// Classes returns the kinds of claims that the provider satisfies.
func Classes() []provider.Class {
	return []provider.Class{
		provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{}, &v1alpha1.TenantDatabaseClass{}, &v1alpha1.TenantDatabase{},
			func(claim *databasev1alpha1.PostgreSQLInstance, p *v1alpha1.TenantDatabaseParameters) error {
				return provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.EngineVersion)
			},
			func(p *v1alpha1.TenantDatabaseParameters) error {
				return provider.Alone("passwordSecretRef", p.PasswordSecretRef != nil)
			}),
	}
}

// kindOf returns the kind of the objects V. cascades, which may be nil, is true if their deletion includes what depends on them. places,
// which may be nil, returns in which database, or of which roles, they are.
func kindOf[P, O, V any, T postgresql.Object[V]](
	labels func(*V) map[string]string, cascades func(*P) bool, places func(*O, *V) []place,
) kind.Kind[*server, P, O, V] {
	return kind.Kind[*server, P, O, V]{
		Identity: kind.ByName,
		Labels:   labels,
		Get: func(ctx context.Context, s *server, r *kind.Request[P, V]) (*V, error) {
			have, err := get[V, T](ctx, s, r.Object, r.Want)
			if o, ok := r.Object.(kind.Object[P, O]); ok && places != nil && mayBeElsewhere(o, have, err, labels) {
				want := r.Want
				if moved := checkPlaces[V, T](ctx, s, o, &want, places(o.Observation(), &want), labels); moved != nil || !meta.WasDeleted(o) {
					return have, cmp.Or(moved, err)
				}
				return get[V, T](ctx, s, o, r.Want) // its place may have been renamed back since it was not found, and the object would go
			}
			return have, err
		},
		Create: func(ctx context.Context, s *server, r *kind.Request[P, V]) (*V, error) {
			if err := s.confine(ctx, r.Object, &r.Want); err != nil {
				return nil, err
			}
			created, err := postgresql.Create[V, T](ctx, s.Server, r.Want)
			return created, confined(r.Object, err)
		},
		Update: func(ctx context.Context, s *server, r *kind.Request[P, V]) error {
			if err := s.confine(ctx, r.Object, &r.Want); err != nil {
				return err
			}
			return confined(r.Object, postgresql.Update[V, T](ctx, s.Server, r.Want))
		},
		Delete: func(ctx context.Context, s *server, r *kind.Request[P, V]) error {
			if cascades != nil && cascades(&r.Parameters) {
				return postgresql.ForceDelete[V, T](ctx, s.Server, r.Want)
			}
			return postgresql.Delete[V, T](ctx, s.Server, r.Want)
		},
	}
}

// get refuses an object that must not be changed, or that reaches beyond its namespace, but returns one that is only observed or that is to
// be deleted. A role that it names and that does not exist is refused by Create and Update: here the object would count as absent.
func get[V any, T postgresql.Object[V]](ctx context.Context, s *server, mg resource.Managed, want V) (*V, error) {
	changes := mg.GetManagementPolicies().AllowAny(xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
	if changes && !meta.WasDeleted(mg) {
		if err := postgresql.CheckChange[V, T](s.Server, want); err != nil {
			return nil, err
		}
		if err := s.confine(ctx, mg, &want); unlessNotFound(err) != nil {
			return nil, err
		}
	}
	have, err := postgresql.Get[V, T](ctx, s.Server, want)
	return have, confined(mg, err)
}

// getRole refuses what has the name of the object's own role after that was renamed: another role lacks its objects and privileges.
func getRole(ctx context.Context, s *server, mg resource.Managed, want postgresql.Role) (*postgresql.Role, error) {
	role, err := get(ctx, s, mg, want)
	if unlessNotFound(err) != nil || err == nil && ownerLabel(role.Labels) == string(mg.GetUID()) {
		return role, err
	}
	renamed, failed := s.RolesWithLabel(ctx, meta.ExternalLabelUID, string(mg.GetUID()))
	if failed != nil || len(renamed) == 0 {
		return role, cmp.Or(failed, err)
	}
	return nil, isRenamed(mg, place{kind: "role", name: &want.Name}, renamed[0], fmt.Sprintf("if the annotation %s was changed or lost, set "+
		"that to %s; if this object is to have another role without its objects and privileges, remove the line with bowline-uid from its comment",
		meta.AnnotationKeyExternalName, renamed[0]))
}

// getDatabase returns nil for a database from the moment that DROP DATABASE begins: its row then shows a connection limit that nobody set,
// and stays if that is interrupted. It can only be deleted. Nor does it return the object's own before Create completes it. One that was
// renamed is not lost, and neither replaced nor left behind.
func getDatabase(ctx context.Context, s *server, mg resource.Managed, want postgresql.Database) (*postgresql.Database, error) {
	oid := hadOID(mg)
	d, err := get(ctx, s, mg, want)
	own := err == nil && isUnfinished(mg, d)
	if err == nil && (d.Invalid || own) && !meta.WasDeleted(mg) {
		return nil, nil
	}
	if own {
		d.Labels = map[string]string{meta.ExternalLabelUID: string(mg.GetUID())}
	}
	if !postgresql.IsNotFound(err) || oid == 0 || !meta.WasDeleted(mg) && meta.CheckRecreate(mg, time.Now()) == nil {
		return d, err
	}
	name, labels, failed := s.WithOID(ctx, "database", oid)
	if unlessNotFound(failed) != nil || ownerLabel(labels) != string(mg.GetUID()) { // identifiers of another server mean nothing
		return nil, cmp.Or(unlessNotFound(failed), err)
	}
	return nil, isRenamed(mg, place{kind: "database", name: &want.Name}, name, fmt.Sprintf("if the annotation %s was changed or lost, set "+
		"that to %s; %s", meta.AnnotationKeyExternalName, name, keepOr(mg, "an empty one")))
}

// hadOID is that of the database which the object had, or zero.
func hadOID(mg resource.Managed) uint32 {
	switch o := mg.(type) {
	case *v1alpha1.TenantDatabase:
		return o.Status.AtProvider.OID
	case interface {
		Observation() *v1alpha1.DatabaseObservation
	}:
		return o.Observation().OID
	}
	return 0
}

// unfinishedLimit is the connection limit of the object's database until that is complete. It proves whose a database is that has no label
// yet, since PostgreSQL creates databases outside of transactions (N5).
func unfinishedLimit(mg resource.Managed) int {
	return 1<<30 + int(crc32.ChecksumIEEE([]byte(mg.GetUID()))%(1<<30)) // more than PostgreSQL supports
}

func isUnfinished(mg resource.Managed, d *postgresql.Database) bool {
	own := slices.Contains([]string{"", string(mg.GetUID())}, ownerLabel(d.Labels))
	return own && !*d.AllowConnections && *d.ConnectionLimit == unfinishedLimit(mg)
}

func databases() kind.Kind[*server, v1alpha1.DatabaseParameters, v1alpha1.DatabaseObservation, postgresql.Database] {
	type request = kind.Request[v1alpha1.DatabaseParameters, postgresql.Database]
	k := kindOf[v1alpha1.DatabaseParameters, v1alpha1.DatabaseObservation, postgresql.Database](
		func(d *postgresql.Database) map[string]string { return d.Labels }, func(*v1alpha1.DatabaseParameters) bool { return true }, nil)
	create := k.Create
	k.Create = func(ctx context.Context, s *server, r *request) (*postgresql.Database, error) {
		full := r.Want
		r.Want.AllowConnections, r.Want.ConnectionLimit = ptr.To(false), ptr.To(unfinishedLimit(r.Object))
		if _, err := create(ctx, s, r); err != nil {
			have, failed := postgresql.Get(ctx, s.Server, full)
			if !postgresql.IsExists(err) || failed != nil || !isUnfinished(r.Object, have) {
				return nil, err
			}
		}
		full.AllowConnections, full.ConnectionLimit = cmp.Or(full.AllowConnections, ptr.To(true)), cmp.Or(full.ConnectionLimit, ptr.To(-1))
		return &full, postgresql.Update(ctx, s.Server, full)
	}
	k.Get = func(ctx context.Context, s *server, r *request) (*postgresql.Database, error) {
		d, err := getDatabase(ctx, s, r.Object, r.Want)
		if err != nil || d == nil {
			return nil, err
		}
		d.Settings = postgresql.SpellSettings(d.Settings, r.Parameters.Settings)
		if r.Parameters.Encoding == nil {
			return d, nil
		}
		same, err := s.SameEncoding(ctx, *d.Encoding, *r.Parameters.Encoding)
		if same {
			d.Encoding = r.Parameters.Encoding // the user's spelling of the same value
		}
		return d, err
	}
	k.UniqueID = func(d *postgresql.Database) string { return fmt.Sprint(d.OID) }
	k.Connection = func(s *server, d *postgresql.Database) managed.ConnectionDetails {
		return s.connectionDetails(xpv1.ResourceCredentialsSecretDatabaseKey, d.Name)
	}
	return k
}

func roles() kind.Kind[*server, v1alpha1.RoleParameters, v1alpha1.RoleObservation, postgresql.Role] {
	type request = kind.Request[v1alpha1.RoleParameters, postgresql.Role]
	k := kindOf[v1alpha1.RoleParameters, v1alpha1.RoleObservation, postgresql.Role](
		func(r *postgresql.Role) map[string]string { return r.Labels }, nil, nil)
	create, update := k.Create, k.Update
	k.Get = func(ctx context.Context, s *server, r *request) (*postgresql.Role, error) {
		role, err := getRole(ctx, s, r.Object, r.Want)
		if err != nil {
			return nil, err
		}
		role.Settings = postgresql.SpellSettings(role.Settings, r.Parameters.Settings)
		r.Outside, err = s.passwordDrift(ctx, r.Object, role, r.Secrets)
		return role, err
	}
	k.Create = func(ctx context.Context, s *server, r *request) (*postgresql.Role, error) {
		r.Want.Password = postgresql.Secret(r.Secrets["passwordSecretRef"])
		return create(ctx, s, r)
	}
	k.Update = func(ctx context.Context, s *server, r *request) error {
		r.Want.Password = postgresql.Secret(r.Secrets["passwordSecretRef"]) // empty: unchanged
		return update(ctx, s, r)
	}
	k.Connection = func(s *server, r *postgresql.Role) managed.ConnectionDetails {
		return s.connectionDetails(xpv1.ResourceCredentialsSecretUserKey, r.Name)
	}
	k.Rotates = []string{"passwordSecretRef"}
	return k
}

// passwordDrift compares the password of a role, unless it belongs to another object: logins must not reveal its password.
func (s *server) passwordDrift(
	ctx context.Context, mg resource.Managed, role *postgresql.Role, secrets map[string][]byte,
) ([]parameters.Difference, error) {
	password := postgresql.Secret(secrets["passwordSecretRef"])
	if password == "" || ownerLabel(role.Labels) != string(mg.GetUID()) || meta.WasDeleted(mg) {
		return nil, nil
	}
	refuses, err := s.RefusesPassword(ctx, role, password)
	if !refuses {
		return nil, err
	}
	return []parameters.Difference{{Path: "password", Desired: "(sensitive)", Observed: "(sensitive)"}}, nil
}

func schemas() kind.Kind[*server, v1alpha1.SchemaParameters, v1alpha1.SchemaObservation, postgresql.Schema] {
	k := kindOf[v1alpha1.SchemaParameters, v1alpha1.SchemaObservation](
		func(x *postgresql.Schema) map[string]string { return x.Labels },
		func(p *v1alpha1.SchemaParameters) bool { return ptr.Deref(p.Cascade, false) },
		func(o *v1alpha1.SchemaObservation, want *postgresql.Schema) []place {
			return []place{{"database", &want.Database, o.DatabaseOID}}
		})
	k.UniqueID = func(x *postgresql.Schema) string { return fmt.Sprint(x.OID) }
	return k
}

func extensions() kind.Kind[*server, v1alpha1.ExtensionParameters, v1alpha1.ExtensionObservation, postgresql.Extension] {
	return kindOf[v1alpha1.ExtensionParameters, v1alpha1.ExtensionObservation](
		func(x *postgresql.Extension) map[string]string { return x.Labels },
		func(p *v1alpha1.ExtensionParameters) bool { return ptr.Deref(p.Cascade, false) },
		func(o *v1alpha1.ExtensionObservation, want *postgresql.Extension) []place {
			return []place{{"database", &want.Database, o.DatabaseOID}}
		})
}

func grants() kind.Kind[*server, v1alpha1.GrantParameters, v1alpha1.GrantObservation, postgresql.Grant] {
	type request = kind.Request[v1alpha1.GrantParameters, postgresql.Grant]
	k := kindOf[v1alpha1.GrantParameters, v1alpha1.GrantObservation, postgresql.Grant](nil, nil, placesOfGrant)
	k.UniqueID = func(g *postgresql.Grant) string { return fmt.Sprint(g.TargetOID) }
	k.Describe = describeGrant
	getGrant, update := k.Get, k.Update
	k.Get = func(ctx context.Context, s *server, r *request) (*postgresql.Grant, error) {
		have, err := getGrant(ctx, s, r)
		if answer, ok := errors.AsType[*postgresql.Error](err); ok && postgresql.IsNotFound(err) && !postgresql.IsUngranted(err) && !meta.WasDeleted(r.Object) {
			// To create the privileges would fail, which would end the proof that those which come back with the target are the object's own.
			return nil, failure.ForTeam(failure.InvalidSettings, answer.Message, errors.New(answer.Message))
		}
		uncreated := meta.GetExternalCreateSucceeded(r.Object).IsZero() && r.Object.GetManagementPolicies().Allow(xpv1.ManagementActionCreate)
		if err == nil && have.Objects == 0 && (uncreated || meta.WasDeleted(r.Object)) {
			return nil, nil // there are no privileges on the tables of an empty schema, so that none are those of others
		}
		return have, err
	}
	k.Update = func(ctx context.Context, s *server, r *request) error {
		if len(r.Want.Privileges) == 0 { // only spec.initProvider has them: keep the present ones
			r.Want.Privileges = r.Have.Privileges
		}
		return update(ctx, s, r)
	}
	return k
}

// describeGrant is for Grants of what the role has already.
func describeGrant(g *postgresql.Grant) string {
	switch {
	case g.On.Kind == postgresql.OnRole:
		return fmt.Sprintf("role %q is a member of %s already", g.Role, g.On)
	case len(g.Privileges) == 0:
		return fmt.Sprintf("role %q has privileges on a part of %s already", g.Role, g.On)
	case g.Owned:
		return fmt.Sprintf("role %q has %s on %s already, as the owner, and needs no Grant for that", g.Role, strings.Join(g.Privileges, ", "), g.On)
	}
	return fmt.Sprintf("role %q has %s on %s already", g.Role, strings.Join(g.Privileges, ", "), g.On)
}
