// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func powerExtension(extension, schema string) *namespacedv1alpha1.Extension {
	o := &namespacedv1alpha1.Extension{ObjectMeta: named(extension)}
	o.Spec.ForProvider.Database, o.Spec.ForProvider.Schema = ptr.To("power-db"), &schema
	return o
}

func powerGrant(name, kind, schema, privilege string, names ...string) *namespacedv1alpha1.Grant {
	o := &namespacedv1alpha1.Grant{ObjectMeta: named(name)}
	p := &o.Spec.ForProvider
	p.Role, p.Privileges = ptr.To("power-member"), []string{privilege}
	p.Target = v1alpha1.GrantTarget{Kind: &kind, Database: ptr.To("power-db"), Schema: &schema, Names: names}
	return o
}

// placed is a database in a tablespace.
func placed(tablespace string) *namespacedv1alpha1.Database {
	o := teamDatabase("in-"+strings.ReplaceAll(tablespace, "_", "-"), "power")
	o.Spec.ForProvider.Tablespace = &tablespace
	return o
}

// createTablespaces creates one of others, one to give to a role, and one for everyone.
func (w *world) createTablespaces(t *testing.T) {
	t.Helper()
	err := w.open(t, w.secret(t, "server"), "postgres", `SET allow_in_place_tablespaces = on`, `CREATE TABLESPACE "power-theirs" LOCATION ''`,
		`CREATE TABLESPACE "power-given" LOCATION ''`, `CREATE TABLESPACE "power-public" LOCATION ''`,
		`GRANT CREATE ON TABLESPACE "power-public" TO PUBLIC`)
	if err != nil {
		t.Fatal(err)
	}
}

func powerSchema(name string) *namespacedv1alpha1.Schema {
	o := &namespacedv1alpha1.Schema{ObjectMeta: named(name)}
	o.Spec.ForProvider.Database, o.Spec.ForProvider.Owner, o.Spec.ForProvider.Cascade = ptr.To("power-db"), ptr.To("power"), ptr.To(true)
	return o
}

// superpowers are those of the provider's user, which objects in a namespace do not get through it.
func superpowers(t *testing.T, w *world) {
	shared := w.shared(t, "powers")
	set := func(name, setting, value string) *namespacedv1alpha1.Role {
		return teamRole(name, func(p *v1alpha1.RoleParameters) { p.Settings = map[string]string{setting: value} })
	}
	unowned := powerSchema("power-unowned") // belongs to the provider's user, with the label of the namespace
	unowned.Spec.ForProvider.Owner = nil
	broken := teamDatabase("power-broken", "power")
	broken.Spec.ForProvider.Settings = map[string]string{"session_preload_libraries": "/tmp/nope.so"}
	w.through(t, shared.Name, teamRole("power", func(p *v1alpha1.RoleParameters) {
		p.Login, p.Settings = ptr.To(true), map[string]string{"Work_Mem": "8MB", "role": "power", "TimeZone": "UTC"}
	}))
	w.createTablespaces(t)
	permitted := []resource.Managed{set("power-member", "ROLE", "power"), set("power-other", "work_mem", "8MB"),
		teamDatabase("power-db", "power"), powerSchema("power-own"), powerSchema("power-trusted"), powerSchema("power-link"), unowned,
		powerExtension("citext", "power-trusted"), powerGrant("power-usage", "Schema", "power-unowned", "USAGE"),
		powerGrant("power-public", "Schema", "public", "CREATE"), powerGrant("power-everyones", "Routine", "power-trusted", "EXECUTE")}
	for _, o := range permitted {
		w.through(t, shared.Name, o)
	}
	w.Settled(t, permitted...)
	err := w.open(t, w.secret(t, "server"), "power-db", `CREATE TABLE "power-own".theirs (n int)`, `CREATE TABLE "power-own".own (n int)`,
		`ALTER TABLE "power-own".own OWNER TO power`, `CREATE SCHEMA internal`,
		`GRANT CREATE ON TABLESPACE "power-given" TO power`)
	if err != nil {
		t.Fatal(err)
	}
	permitted = []resource.Managed{powerGrant("power-named", "Table", "power-own", "SELECT", "own"), placed("power-given"),
		placed("power-public"), placed("pg_default")}
	for _, o := range permitted {
		w.through(t, shared.Name, o)
	}
	w.Settled(t, permitted...)

	tables := powerGrant("power-tables", "Table", "power-own", "SELECT")
	tables.Spec.ForProvider.Role = ptr.To("power-other")
	refused := map[resource.Managed]string{
		powerExtension("dblink", "power-link"):  "PostgreSQL does not mark extension dblink as trusted",
		powerExtension("amcheck", "power-link"): "adding amcheck to spec.extensions",
		tables:                                  `"power-own".theirs belongs to role "` + w.postgres.Config().Username,
		powerGrant("power-internal", "Schema", "internal", "USAGE"):                 "internal belongs to role",
		set("power-preload", "Session_Preload_Libraries", "auto_explain"):           "only a superuser may set Session_Preload_Libraries",
		set("power-lo", "lo_compat_privileges", "on"):                               "lo_compat_privileges",
		set("power-replica", "session_replication_role", "replica"):                 "session_replication_role",
		set("power-silent", "log_min_messages", "panic"):                            "log_min_messages",
		set("power-stack", "max_stack_depth", "7MB"):                                "max_stack_depth",
		set("power-temp", "temp_file_limit", "-1"):                                  "temp_file_limit",
		set("power-custom", "auto_explain.log_min_duration", "0"):                   "auto_explain.log_min_duration",
		set("power-role", "Role", w.postgres.Config().Username):                     "settings.Role",
		set("power-session", "session_authorization", w.postgres.Config().Username): "settings.session_authorization",
		placed("power-theirs"):                                                      `neither everyone nor a role of namespace "`,
		broken:                                                                      "only a superuser may set session_preload_libraries",
	}
	w.refuses(t, shared, refused)
	if _, err := postgresql.Get(t.Context(), w.server, postgresql.Extension{Database: "power-db", Name: "dblink"}); !postgresql.IsNotFound(err) {
		t.Errorf("the extension was installed: %v", err)
	}
	grant := powerGrant("power-connect", "Routine", "power-link", "EXECUTE")
	w.merge(t, shared, `{"spec":{"extensions":["dblink"]}}`)
	for o := range refused {
		if o.GetName() == "dblink" {
			w.Settled(t, o)
			delete(refused, o)
		}
	}
	refused[grant] = "dblink_connect_u(text) belongs to role"
	w.refuses(t, shared, map[resource.Managed]string{grant: refused[grant]})
	w.escalated(t, shared, refused, func() {
		err := w.open(t, w.secret(t, "server"), "power-db",
			`SELECT 1 / has_function_privilege('power-member', '"power-link".dblink_connect_u(text)', 'EXECUTE')::int`)
		if err != nil {
			t.Errorf("the privilege was revoked: %v", err)
		}
	})
	if err := w.open(t, w.secret(t, "server"), "postgres", `REVOKE CREATE ON TABLESPACE "power-given" FROM power`); err != nil {
		t.Error(err) // the role is not deleted while it has privileges
	}
}
