// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A tenant is a database and the role that owns it, of the same name. What the database says is not set while there is none,
// so that a creation that was cut off halfway is a difference, which update settles.
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
}

// What a tenant can be like: of use, or a creation that was cut off, or was undone in part.
const (
	tenantReady = "READY"
	tenantHalf  = "INCOMPLETE"
)

type tenantRequest = kind.Request[v1alpha1.TenantDatabaseParameters, tenant]

// tenantDatabases are databases of a server that many share.
func tenantDatabases() kind.Kind[*server, v1alpha1.TenantDatabaseParameters, v1alpha1.TenantDatabaseObservation, tenant] {
	return kind.Kind[*server, v1alpha1.TenantDatabaseParameters, v1alpha1.TenantDatabaseObservation, tenant]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *server, r *tenantRequest) (*tenant, error) {
			return s.getTenant(ctx, r)
		},
		Create: func(ctx context.Context, s *server, r *tenantRequest) (*tenant, error) {
			if err := s.ensureTenant(ctx, r); err != nil {
				return nil, err
			}
			return s.getTenant(ctx, r)
		},
		Update: func(ctx context.Context, s *server, r *tenantRequest) error {
			return s.ensureTenant(ctx, r)
		},
		Delete: func(ctx context.Context, s *server, r *tenantRequest) error {
			return s.deleteTenant(ctx, r.Name, ownerLabel(r.Have.Labels))
		},
		States: map[string]kind.State{tenantReady: kind.Ready, tenantHalf: kind.Creating},
		Labels: func(t *tenant) map[string]string { return t.Labels },
		Connection: func(s *server, t *tenant) managed.ConnectionDetails {
			details := s.reach(xpv1.ResourceCredentialsSecretDatabaseKey, t.Name)
			details[xpv1.ResourceCredentialsSecretUserKey] = []byte(t.Name)
			return details
		},
	}
}

// getTenant returns what there is of a tenant, nil if that is nothing. The labels are the role's, which is made first and
// deleted last.
func (s *server) getTenant(ctx context.Context, r *tenantRequest) (*tenant, error) {
	name := r.Name
	role, err := s.GetRole(ctx, name)
	if err != nil && !postgresql.IsNotFound(err) {
		return nil, err
	}
	d, err := s.GetDatabase(ctx, name)
	switch {
	case err != nil && !postgresql.IsNotFound(err):
		return nil, err
	case role == nil && d == nil:
		return nil, nil
	case d == nil:
		return &tenant{Name: name, Status: tenantHalf, Labels: role.Labels}, nil
	}
	t := &tenant{Name: name, Status: tenantHalf, Labels: d.Labels, OID: d.OID}
	t.Settings = postgresql.SpellSettings(d.Settings, r.Parameters.Settings)
	if t.ServerVersion, err = s.Version(ctx); err != nil {
		return nil, err
	}
	t.EngineVersion = ptr.To(major(t.ServerVersion))
	if role == nil {
		return t, nil
	}
	t.Labels = role.Labels
	if d.CurrentOwner != name || !ptr.Deref(d.AllowConnections, true) {
		return t, nil
	}
	t.Status, t.ConnectionLimit = tenantReady, d.ConnectionLimit
	if wanted := r.Parameters.ConnectionLimit; ptr.Equal(d.ConnectionLimit, wanted) {
		t.ConnectionLimit = role.ConnectionLimit // The two are one value to users: the one that differs is shown.
	}
	access, err := s.GetGrant(ctx, everybodys(name))
	if err != nil && !postgresql.IsNotFound(err) {
		return nil, err
	}
	t.Public = ptr.To(err == nil && slices.Contains(access.Privileges, "CONNECT"))
	return t, nil
}

// ensureTenant makes what is missing and changes what differs. Nobody can connect before everybody else cannot.
func (s *server) ensureTenant(ctx context.Context, r *tenantRequest) error {
	version, err := s.Version(ctx)
	if err != nil {
		return err
	}
	if wanted := r.Parameters.EngineVersion; wanted != nil && *wanted != major(version) && r.Have == nil {
		return &postgresql.Error{Code: codeInvalid, Message: fmt.Sprintf("the server runs PostgreSQL %s, not %s: leave engineVersion out, "+
			"or choose a class of another server", major(version), *wanted)}
	}
	if err := s.ensureOwner(ctx, r); err != nil {
		return err
	}
	want := postgresql.Database{
		Name: r.Name, Owner: &r.Name, ConnectionLimit: r.Parameters.ConnectionLimit, Settings: r.Parameters.Settings, Labels: r.Labels,
		AllowConnections: ptr.To(false), Template: ptr.To(untouched),
	}
	if _, err := s.CreateDatabase(ctx, want); postgresql.IsExists(err) {
		have, err := s.GetDatabase(ctx, r.Name)
		if err != nil {
			return err
		}
		if have.CurrentOwner != r.Name && ownerLabel(have.Labels) != ownerLabel(r.Labels) {
			return taken("database", r.Name)
		}
	} else if err != nil {
		return err
	}
	if err := s.letIn(ctx, r.Name, ptr.Deref(r.Parameters.Public, false)); err != nil {
		return err
	}
	want.AllowConnections = ptr.To(true)
	return s.UpdateDatabase(ctx, want)
}

// ensureOwner makes the role, unless it is there and ours. It never makes one that nobody can log in as. The limit of its
// database alone would not hold: it may connect to others, such as postgres.
func (s *server) ensureOwner(ctx context.Context, r *tenantRequest) error {
	want := postgresql.Role{
		Name: r.Name, Login: ptr.To(true), Labels: r.Labels, ConnectionLimit: r.Parameters.ConnectionLimit,
		Password: postgresql.Secret(r.Secrets["passwordSecretRef"]),
	}
	if want.Password == "" {
		err := s.UpdateRole(ctx, want)
		if postgresql.IsNotFound(err) {
			return &postgresql.Error{Code: codeInvalid, Message: fmt.Sprintf("the role %q is gone and its password is not known: name one "+
				"with passwordSecretRef, or a connection Secret with writeConnectionSecretToRef", r.Name)}
		}
		return err
	}
	_, err := s.CreateRole(ctx, want)
	if !postgresql.IsExists(err) {
		return err
	}
	have, err := s.GetRole(ctx, r.Name)
	if err != nil {
		return err
	}
	if r.Have == nil && ownerLabel(have.Labels) != ownerLabel(r.Labels) {
		return taken("role", r.Name)
	}
	return s.UpdateRole(ctx, want)
}

// letIn lets everybody connect to a database, or nobody but its owner.
func (s *server) letIn(ctx context.Context, database string, everybody bool) error {
	public := everybodys(database)
	var err error
	if everybody {
		if _, err = s.CreateGrant(ctx, public); postgresql.IsExists(err) {
			return s.UpdateGrant(ctx, public)
		}
		return err
	}
	if err = s.DeleteGrant(ctx, public); postgresql.IsNotFound(err) {
		return nil
	}
	return err
}

// deleteTenant deletes the database, if it is the tenant's, and then its owner with all that it has elsewhere. Whoever may
// connect to another database has something there by its own doing, or by that of another tenant who granted it something.
// Each step can be repeated, and from the first on the tenant cannot log in.
func (s *server) deleteTenant(ctx context.Context, name, owner string) error {
	lockedOut := s.LockOut(ctx, name)
	if lockedOut != nil && !postgresql.IsNotFound(lockedOut) {
		return lockedOut
	}
	d, err := s.GetDatabase(ctx, name)
	if err != nil && !postgresql.IsNotFound(err) {
		return err
	}
	if err == nil && (d.CurrentOwner == name || ownerLabel(d.Labels) == owner && owner != "") {
		err := s.DeleteDatabase(ctx, name, postgresql.DeleteDatabaseOptions{Force: true})
		if err != nil && !postgresql.IsNotFound(err) {
			return err
		}
	}
	if lockedOut != nil {
		return lockedOut // There is no role.
	}
	if err := s.DropOwned(ctx, name); err != nil {
		return err
	}
	return s.DeleteRole(ctx, name)
}

// untouched is the template that nobody can connect to: a session with another one is in the way of every copy.
const untouched = "template0"

// codeInvalid is what PostgreSQL says of a value that it cannot take: invalid_parameter_value.
const codeInvalid = "22023"

// everybodys is what every role of the server may do with a new database.
func everybodys(database string) postgresql.Grant {
	return postgresql.Grant{
		Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: database},
		Privileges: []string{"CONNECT", "TEMPORARY"},
	}
}

// taken refuses a name that another object or person uses.
func taken(what, name string) error {
	message := fmt.Sprintf("the server has a %s %q that does not belong to this object: choose another name with the annotation %s",
		what, name, meta.AnnotationKeyExternalName)
	return failure.ForTeam(failure.ExternalNameTaken, message, &postgresql.Error{Code: codeInvalid, Message: message})
}

func ownerLabel(labels map[string]string) string { return labels[meta.ExternalLabelUID] }

// major is 15 of 15.18.
func major(version string) string {
	first, _, _ := strings.Cut(version, ".")
	return first
}
