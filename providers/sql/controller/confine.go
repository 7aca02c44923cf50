// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// confine refuses privileges beyond those of the namespace of an object, where the configuration is shared by all namespaces (N57). want
// is what the object declares. The error is IsNotFound if that names a role or database which does not exist.
func (s *server) confine(ctx context.Context, mg resource.Managed, want any) error {
	shared := mg.GetNamespace() != "" && resource.ProviderConfigKind(mg) == xpv1.ClusterProviderConfigKind
	if !shared || s.escalation == v1alpha1.EscalateAny {
		return nil
	}
	switch want := want.(type) {
	case *postgresql.Role:
		return firstRefusal(confinePowers(mg, want), s.confineSettings(ctx, mg, want.Settings, want.Name))
	case *postgresql.Grant:
		if want.On.Kind == postgresql.OnRole {
			return s.confineRole(ctx, mg, "target.role", want.On.Role)
		}
		want.Within = map[string]string{meta.ExternalLabelNamespace: mg.GetNamespace()}
		return s.confineDatabase(ctx, mg, "target.database", want.On.Database)
	case *postgresql.Database:
		errs := []error{s.confineSettings(ctx, mg, want.Settings, ""), s.confineOwner(ctx, mg, want.Owner), s.confineTablespace(ctx, mg, want)}
		if template := ptr.Deref(want.Template, templates[0]); !slices.Contains(templates, template) {
			errs = append(errs, s.confineDatabase(ctx, mg, "template", template))
		}
		return firstRefusal(errs...)
	case *postgresql.Schema:
		return firstRefusal(s.confineDatabase(ctx, mg, "database", want.Database), s.confineOwner(ctx, mg, want.Owner))
	case *postgresql.Extension:
		if err := s.confineDatabase(ctx, mg, "database", want.Database); err != nil {
			return err
		}
		return s.confineTrust(ctx, mg, want)
	}
	return nil
}

// firstRefusal prefers refusals, and other failures, to what does not exist: that must not hide them.
func firstRefusal(errs ...error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return unlessNotFound(err) != nil }); i >= 0 {
		return errs[i]
	}
	return cmp.Or(errs...)
}

// templates are the databases that all may copy.
var templates = []string{"template1", "template0"}

// confineTablespace permits what databases get without a request: pg_default, or the tablespace of the template.
func (s *server) confineTablespace(ctx context.Context, mg resource.Managed, want *postgresql.Database) error {
	if ptr.Deref(want.Tablespace, "pg_default") == "pg_default" {
		return nil
	}
	permitted, err := s.PermitsTablespace(ctx, *want, meta.ExternalLabelNamespace, mg.GetNamespace())
	if err != nil || permitted {
		return err
	}
	return escalation(mg, fmt.Sprintf("neither everyone nor a role of namespace %q has privilege CREATE on tablespace %q: leave it out, or "+
		"name another one", mg.GetNamespace(), *want.Tablespace), ", or grant the privilege to a role of the namespace")
}

// confinePowers refuses also createDb: the role could give its databases the name and the label of one that another namespace lost.
func confinePowers(mg resource.Managed, want *postgresql.Role) error {
	powers := map[string]*bool{
		"bypassRls": want.BypassRLS, "createDb": want.CreateDB, "createRole": want.CreateRole, "replication": want.Replication,
		"superuser": want.Superuser,
	}
	var set []string
	for field, value := range powers {
		if ptr.Deref(value, false) {
			set = append(set, field)
		}
	}
	if len(set) == 0 {
		return nil
	}
	slices.Sort(set)
	return escalation(mg, strings.Join(set, ", ")+" would give the role power over the databases of other namespaces, or over their names: "+
		"leave it out, or set it to false, and create databases as objects of kind Database", "")
}

// confineSettings refuses settings for superusers: PostgreSQL applies what a superuser stored to the sessions of everyone.
// self, if not empty, is the role of the object.
func (s *server) confineSettings(ctx context.Context, mg resource.Managed, settings map[string]string, self string) error {
	if len(settings) == 0 {
		return nil
	}
	restricted, err := s.Restricted(ctx, settings)
	if len(restricted) > 0 {
		err = escalation(mg, fmt.Sprintf("only a superuser may set %s, or no loaded library defines that: remove it from settings",
			strings.Join(restricted, ", ")), "")
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		if slices.Contains(identities, strings.ToLower(name)) && value != self && value != "none" {
			err = firstRefusal(err, s.confineRole(ctx, mg, "settings."+name, value))
		}
	}
	return err
}

// identities are the settings whose value is a role.
var identities = []string{"role", "session_authorization"}

// confineTrust refuses extensions that are not meant for users, since the provider would install them as a superuser.
func (s *server) confineTrust(ctx context.Context, mg resource.Managed, want *postgresql.Extension) error {
	untrusted, err := s.Untrusted(ctx, *want)
	untrusted = slices.DeleteFunc(untrusted, func(name string) bool { return slices.Contains(s.extensions, name) })
	if err != nil || len(untrusted) == 0 {
		return err
	}
	list := strings.Join(untrusted, ", ")
	return escalation(mg, fmt.Sprintf("PostgreSQL does not mark extension %s as trusted, for anyone to install: choose another", list),
		fmt.Sprintf(", or install it by an Extension that is cluster-scoped, or permit it alone by adding %s to spec.extensions", list))
}

// confined is for errors about what only a call finds out.
func confined(mg resource.Managed, err error) error {
	if foreign, ok := errors.AsType[*postgresql.OwnerError](err); ok {
		return escalation(mg, fmt.Sprintf("target: %s belongs to role %q, which is not of namespace %q: grant privileges on objects of its "+
			"own roles, by target.names or in another schema", foreign.Object, foreign.Owner, mg.GetNamespace()),
			", or have a role of the namespace own it")
	}
	return err
}

// confineOwner permits the user of the configuration, who owns what names no owner.
func (s *server) confineOwner(ctx context.Context, mg resource.Managed, owner *string) error {
	if ptr.Deref(owner, s.username) == s.username {
		return nil
	}
	return s.confineRole(ctx, mg, "owner", *owner)
}

func (s *server) confineRole(ctx context.Context, mg resource.Managed, field, role string) error {
	have, err := postgresql.Get(ctx, s.Server, postgresql.Role{Name: role})
	if err != nil {
		return err
	}
	return confineTo(mg, field, role, "role", have.Labels)
}

// confineDatabase goes by the label of its owner where the database has none: its owner may remove that, but cannot change the role's.
func (s *server) confineDatabase(ctx context.Context, mg resource.Managed, field, database string) error {
	have, err := postgresql.Get(ctx, s.Server, postgresql.Database{Name: database})
	if err != nil {
		return err
	}
	labels := have.Labels
	if labels[meta.ExternalLabelNamespace] == "" {
		owner, err := postgresql.Get(ctx, s.Server, postgresql.Role{Name: have.CurrentOwner})
		if err != nil {
			return err
		}
		labels = owner.Labels
	}
	return confineTo(mg, field, database, "database", labels)
}

// confineTo refuses a role or database that does not carry the label of the object's namespace.
func confineTo(mg resource.Managed, field, name, what string, labels map[string]string) error {
	if labels[meta.ExternalLabelNamespace] == mg.GetNamespace() {
		return nil
	}
	return escalation(mg, fmt.Sprintf("%s %q is not a %s of namespace %q: name one that was created there", field, name, what, mg.GetNamespace()),
		fmt.Sprintf(", or give only this %s to the namespace by the line \"bowline: %s=%s\" at the end of its comment",
			what, meta.ExternalLabelNamespace, mg.GetNamespace()))
}

// escalation is the error about what only the platform team permits, by the configuration or in another way.
func escalation(mg resource.Managed, what, otherwise string) error {
	full := &postgresql.Error{Code: postgresql.CodeBadValue, Message: fmt.Sprintf("%s; to permit it to all namespaces, set spec.escalation of %s %q to %s%s",
		what, xpv1.ClusterProviderConfigKind, resource.ProviderConfigName(mg), v1alpha1.EscalateAny, otherwise)}
	return failure.ForTeam(failure.EscalationRefused, what+", or ask your platform team", full)
}
