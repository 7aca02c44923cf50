// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A tenant is a database and the role that owns it, of the same name. Fields of a missing database are unset, so that an
// interrupted creation is a difference, which an update settles.
type tenant struct {
	Name            string
	Status          string
	Labels          map[string]string
	EngineVersion   *string
	ServerVersion   string
	ConnectionLimit *int
	Public          *bool
	Settings        map[string]string
	OID             uint32
	Reserved        int // the limit of the role, which it cannot change itself
}

// States of a tenant. An incomplete one is an interrupted creation or deletion.
const (
	tenantReady      = "READY"
	tenantIncomplete = "INCOMPLETE"
)

// foreignOwner stands for the owner of a database without labels that is not the tenant's.
const foreignOwner = "unknown"

type tenantRequest = kind.Request[v1alpha1.TenantDatabaseParameters, tenant]

func tenantDatabases() kind.Kind[*server, v1alpha1.TenantDatabaseParameters, v1alpha1.TenantDatabaseObservation, tenant] {
	return kind.Kind[*server, v1alpha1.TenantDatabaseParameters, v1alpha1.TenantDatabaseObservation, tenant]{
		Identity: kind.ByName,
		Get:      getTenant,
		Create: func(ctx context.Context, s *server, r *tenantRequest) (*tenant, error) {
			if err := ensureTenant(ctx, s, r); err != nil {
				return nil, err
			}
			return getTenant(ctx, s, r)
		},
		Update:  ensureTenant,
		Delete:  deleteTenant,
		Rotates: []string{"passwordSecretRef"},
		UniqueID: func(t *tenant) string {
			if t.OID == 0 {
				return "" // it has no database
			}
			return fmt.Sprint(t.OID)
		},
		States: map[string]kind.State{tenantReady: kind.Ready, tenantIncomplete: kind.Creating},
		Labels: func(t *tenant) map[string]string { return t.Labels },
		Connection: func(s *server, t *tenant) managed.ConnectionDetails {
			details := s.connectionDetails(xpv1.ResourceCredentialsSecretDatabaseKey, t.Name)
			details[xpv1.ResourceCredentialsSecretUserKey] = []byte(t.Name)
			return details
		},
	}
}

// getTenant returns nil if neither role nor database exist, or if only the database of our role does not. The labels are those of the
// role, which is created first and deleted last, unless the database of that name is not the role's.
func getTenant(ctx context.Context, s *server, r *tenantRequest) (*tenant, error) {
	name := r.Name
	role, err := getRole(ctx, s, r.Object, postgresql.Role{Name: name})
	if unlessNotFound(err) != nil {
		return nil, err
	}
	d, err := getDatabase(ctx, s, r.Object, postgresql.Database{Name: name})
	switch {
	case err != nil && !postgresql.IsNotFound(err):
		return nil, err
	case role == nil && d == nil:
		return nil, nil
	case d == nil && ownerLabel(role.Labels) == string(r.Object.GetUID()) && !meta.WasDeleted(r.Object):
		return nil, nil // the role alone is no tenant: its creation failed, or its data is lost
	case d == nil:
		return &tenant{Name: name, Status: tenantIncomplete, Labels: role.Labels}, nil
	case meta.WasDeleted(r.Object) && role == nil && ownerLabel(d.Labels) != string(r.Object.GetUID()):
		others := map[string]string{meta.ExternalLabelUID: cmp.Or(ownerLabel(d.Labels), foreignOwner)}
		return &tenant{Name: name, Status: tenantIncomplete, Labels: others}, nil // it stays, which an event reports
	}
	foreign := d.CurrentOwner != name && ownerLabel(d.Labels) != string(r.Object.GetUID()) && !meta.WasDeleted(r.Object)
	if had := hadOID(r.Object); foreign && had != 0 && had != d.OID && !knowsIdentity(r.Object) {
		return nil, nil // the data is lost, of an object of an earlier version
	}
	t := &tenant{Name: name, Status: tenantIncomplete, Labels: d.Labels, OID: d.OID}
	t.Settings = postgresql.SpellSettings(d.Settings, r.Parameters.Settings)
	if t.ServerVersion, err = s.Version(ctx); err != nil {
		return nil, err
	}
	t.EngineVersion = ptr.To(major(t.ServerVersion))
	if role != nil && !slices.Contains([]string{"", string(r.Object.GetUID())}, ownerLabel(role.Labels)) {
		t.Labels = role.Labels // another object's, whosever the database is
	}
	if role == nil || foreign {
		return t, nil
	}
	t.Labels, t.Reserved = role.Labels, *role.ConnectionLimit
	if d.CurrentOwner != name || !ptr.Deref(d.AllowConnections, true) {
		return t, nil
	}
	t.Status, t.ConnectionLimit = tenantReady, d.ConnectionLimit
	if wanted := r.Parameters.ConnectionLimit; ptr.Equal(d.ConnectionLimit, wanted) {
		t.ConnectionLimit = role.ConnectionLimit // the two are one setting: show the one that differs
	}
	access, err := postgresql.Get(ctx, s.Server, publicGrant(name))
	if unlessNotFound(err) != nil {
		return nil, err
	}
	t.Public = ptr.To(err == nil && slices.Contains(access.Privileges, "CONNECT"))
	if ownerLabel(role.Labels) != string(r.Object.GetUID()) {
		return t, nil // an update makes it ours first
	}
	r.Outside, err = s.passwordDrift(ctx, r.Object, role, r.Secrets)
	for _, a := range []struct {
		path     string
		is, want bool
	}{
		{"bypassRls", *role.BypassRLS, false}, {"createDb", *role.CreateDB, false}, {"createRole", *role.CreateRole, false},
		{"connects", d.OwnerConnects, true}, {"labelled", ownerLabel(d.Labels) == ownerLabel(role.Labels), true},
		{"login", *role.Login, true}, {"replication", *role.Replication, false}, {"superuser", *role.Superuser, false},
	} {
		if a.is != a.want {
			r.Outside = append(r.Outside, parameters.Difference{Path: a.path, Desired: fmt.Sprint(a.want), Observed: fmt.Sprint(a.is)})
		}
	}
	if *role.ValidUntil != "infinity" {
		r.Outside = append(r.Outside, parameters.Difference{Path: "validUntil", Desired: "infinity", Observed: *role.ValidUntil})
	}
	return t, err
}

// knowsIdentity is true for an object whose status tells its database from others of the same name (N63).
func knowsIdentity(mg resource.Managed) bool {
	o, ok := mg.(*v1alpha1.TenantDatabase)
	return ok && o.Status.ExternalIdentity.ID != ""
}

// isAccepted is true if a person accepted the database of others for the one that the object lost (N63).
func isAccepted(mg resource.Managed, oid uint32) bool {
	restored := mg.GetAnnotations()[meta.AnnotationKeyRestoredAs] == fmt.Sprint(oid)
	return hadOID(mg) != 0 && (restored || meta.CheckRecreate(mg, time.Now()) == nil)
}

// ensureTenant creates what is missing and changes what differs. Connections are enabled only after access is restricted.
func ensureTenant(ctx context.Context, s *server, r *tenantRequest) error {
	version, err := s.Version(ctx)
	if err != nil {
		return err
	}
	if wanted := r.Parameters.EngineVersion; wanted != nil && *wanted != major(version) && r.Have == nil {
		return &postgresql.Error{Code: postgresql.CodeBadValue, Message: fmt.Sprintf("the server runs PostgreSQL %s, not %s: leave engineVersion out, "+
			"or choose a class of another server", major(version), *wanted)}
	}
	release, err := s.reserve(ctx, r)
	if err != nil {
		return err
	}
	defer release()
	exists, err := s.checkDatabase(ctx, r)
	if err != nil {
		return err
	}
	keeps, err := s.ensureOwner(ctx, r) // which takes over a role that is not labelled
	if err != nil {
		return err
	}
	want := postgresql.Database{
		Name: r.Name, Owner: &r.Name, ConnectionLimit: r.Parameters.ConnectionLimit, Settings: r.Parameters.Settings, Labels: r.Labels,
		AllowConnections: ptr.To(false), Template: ptr.To(pristineTemplate),
	}
	if !exists {
		_, err := postgresql.Create(ctx, s.Server, want)
		if err != nil && !postgresql.IsExists(err) {
			return err
		}
	}
	if _, err := s.checkDatabase(ctx, r); err != nil { // it may have been created or dropped meanwhile
		return err
	}
	if err := s.setPublic(ctx, r.Name, ptr.Deref(r.Parameters.Public, false)); err != nil {
		return err
	}
	want.AllowConnections = ptr.To(true)
	if err := postgresql.Update(ctx, s.Server, want); err != nil {
		return err
	}
	have, err := postgresql.Get(ctx, s.Server, postgresql.Database{Name: r.Name})
	if err != nil {
		return err
	}
	if !have.OwnerConnects {
		all := postgresql.Grant{Role: r.Name, On: publicGrant(r.Name).On, Privileges: []string{"CONNECT", "CREATE", "TEMPORARY"}}
		if err := s.ensureGrant(ctx, all); err != nil {
			return err
		}
	}
	if password := postgresql.Secret(r.Secrets["passwordSecretRef"]); keeps && password != "" { // which Secrets do not have before all is done
		return postgresql.Update(ctx, s.Server, postgresql.Role{Name: r.Name, Password: password})
	}
	return nil
}

// checkDatabase reports whether the database exists, and refuses one that belongs to others. One that is dropped during an update is not
// created again (N38).
func (s *server) checkDatabase(ctx context.Context, r *tenantRequest) (exists bool, err error) {
	have, err := postgresql.Get(ctx, s.Server, postgresql.Database{Name: r.Name})
	if postgresql.IsNotFound(err) && (r.Have == nil || r.Have.OID == 0) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	accepted := r.Have != nil && r.Have.OID == have.OID && isAccepted(r.Object, have.OID)
	if have.CurrentOwner != r.Name && ownerLabel(have.Labels) != ownerLabel(r.Labels) && !accepted {
		return true, taken("database", r.Name)
	}
	return true, nil
}

// reserve refuses a connection limit that the server cannot keep besides those of its other databases, so that one tenant cannot take the
// sessions of another. Of those that are created or enlarged at the same time, each has to count the others, until release.
func (s *server) reserve(ctx context.Context, r *tenantRequest) (release func(), err error) {
	wanted, had := ptr.Deref(r.Parameters.ConnectionLimit, -1), 0
	if r.Have != nil {
		had = max(r.Have.Reserved, 0) // no limit promises nothing
	}
	if wanted <= had {
		return func() {}, nil
	}
	if err := s.reserving.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	release = func() { s.reserving.Release(1) }
	room, err := s.Room(ctx, r.Name, meta.ExternalLabelNamespace)
	if free := room.Sessions - room.Promised; err == nil && wanted > free {
		team := fmt.Sprintf("the server has no room for a database with %d connections: choose another class, or ask your platform team", wanted)
		err = failure.ForTeam(failure.QuotaExceeded, team, fmt.Errorf("connectionLimit %d is more than the %d connections that are free: the "+
			"server has %d for databases, of which the limits of others promise %d; lower connectionLimit, raise max_connections, or use "+
			"another server", wanted, max(free, 0), max(room.Sessions, 0), room.Promised))
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// ensureOwner creates or updates the role, but never creates one without a known password; keeps is true if the role keeps the one that
// it has. The role has a connection limit, too, since it may connect to other databases such as postgres.
func (s *server) ensureOwner(ctx context.Context, r *tenantRequest) (keeps bool, err error) {
	want := postgresql.Role{
		Name: r.Name, Login: ptr.To(true), ValidUntil: ptr.To("infinity"), Labels: r.Labels, ConnectionLimit: r.Parameters.ConnectionLimit,
		Superuser: new(bool), CreateRole: new(bool), CreateDB: new(bool), Replication: new(bool), BypassRLS: new(bool),
		Password: postgresql.Secret(r.Secrets["passwordSecretRef"]),
	}
	if want.Password == "" {
		err := postgresql.Update(ctx, s.Server, want)
		if postgresql.IsNotFound(err) {
			err = &postgresql.Error{Code: postgresql.CodeBadValue, Message: fmt.Sprintf("role %q is missing and its password is unknown: set "+
				"passwordSecretRef, or writeConnectionSecretToRef", r.Name)}
		}
		return true, err
	}
	if _, err := postgresql.Create(ctx, s.Server, want); !postgresql.IsExists(err) {
		return false, err
	}
	have, err := postgresql.Get(ctx, s.Server, postgresql.Role{Name: r.Name})
	if err != nil {
		return false, err
	}
	if r.Have == nil && ownerLabel(have.Labels) != ownerLabel(r.Labels) {
		return false, taken("role", r.Name)
	}
	want.Password = ""
	return true, postgresql.Update(ctx, s.Server, want)
}

// setPublic lets every role connect to a database, or only its owner.
func (s *server) setPublic(ctx context.Context, database string, enabled bool) error {
	public := publicGrant(database)
	if !enabled {
		return unlessNotFound(postgresql.Delete(ctx, s.Server, public))
	}
	return s.ensureGrant(ctx, public)
}

func (s *server) ensureGrant(ctx context.Context, g postgresql.Grant) error {
	_, err := postgresql.Create(ctx, s.Server, g)
	if postgresql.IsExists(err) {
		return postgresql.Update(ctx, s.Server, g)
	}
	return err
}

// deleteTenant deletes the database, if it belongs to the tenant, and then the role with its objects and privileges in other
// databases. The first step disables the login; each step can be repeated.
func deleteTenant(ctx context.Context, s *server, r *tenantRequest) error {
	name, owner := r.Name, ownerLabel(r.Have.Labels)
	if err := postgresql.CheckChange(s.Server, postgresql.Role{Name: name}); err != nil {
		return err
	}
	disabled := s.DisableLogin(ctx, name)
	if disabled != nil && !postgresql.IsNotFound(disabled) {
		return disabled
	}
	d, err := postgresql.Get(ctx, s.Server, postgresql.Database{Name: name})
	if err != nil && !postgresql.IsNotFound(err) {
		return err
	}
	if err == nil && (d.CurrentOwner == name || ownerLabel(d.Labels) == owner && owner != "") {
		if err := unlessNotFound(postgresql.ForceDelete(ctx, s.Server, postgresql.Database{Name: name})); err != nil {
			return err
		}
	}
	if disabled != nil {
		return disabled // there is no role
	}
	if err := s.DropOwned(ctx, name); err != nil {
		return err
	}
	return postgresql.Delete(ctx, s.Server, postgresql.Role{Name: name})
}

// pristineTemplate permits no connections, which would block copies.
const pristineTemplate = "template0"

// publicGrant are the default privileges of every role on a new database.
func publicGrant(database string) postgresql.Grant {
	return postgresql.Grant{
		Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: database},
		Privileges: []string{"CONNECT", "TEMPORARY"},
	}
}

func unlessNotFound(err error) error {
	if postgresql.IsNotFound(err) {
		return nil
	}
	return err
}

// taken refuses a name that another object or person uses.
func taken(what, name string) error {
	message := fmt.Sprintf("the server has a %s %q that does not belong to this object: choose another name with the annotation %s",
		what, name, meta.AnnotationKeyExternalName)
	return failure.ForTeam(failure.ExternalNameTaken, message, &postgresql.Error{Code: postgresql.CodeBadValue, Message: message})
}

func ownerLabel(labels map[string]string) string { return labels[meta.ExternalLabelUID] }

// major returns 15 for 15.18.
func major(version string) string {
	first, _, _ := strings.Cut(version, ".")
	return first
}
