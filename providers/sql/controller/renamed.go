// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A place is a database or role by which an object names what it manages.
type place struct {
	kind string  // database or role
	name *string // in what the object declares
	oid  uint32  // when the object was last observed; 0 if that is not known
}

func placesOfGrant(o *v1alpha1.GrantObservation, want *postgresql.Grant) []place {
	target := place{"database", &want.On.Database, o.TargetOID}
	if want.On.Kind == postgresql.OnRole {
		target = place{"role", &want.On.Role, o.TargetOID}
	}
	return []place{target, {"role", &want.Role, o.RoleOID}}
}

// mayBeElsewhere is true if what an object manages was not found, or is to be deleted and is perhaps that of others. There are no privileges
// on the tables of a schema without tables, as that of a new database.
func mayBeElsewhere[V any](mg resource.Managed, have *V, err error, labels func(*V) map[string]string) bool {
	if g, ok := any(have).(*postgresql.Grant); ok && err == nil && g.Objects == 0 {
		return true
	}
	if err != nil || !meta.WasDeleted(mg) {
		return postgresql.IsNotFound(err)
	}
	return labels == nil || ownerLabel(labels(have)) != string(mg.GetUID())
}

// checkPlaces returns an error if a place of want has another name now, and what the object manages is there. If a place does not exist any
// more, nothing is left: PostgreSQL deletes a database with its contents, and no role that has privileges (N85).
func checkPlaces[V any, T postgresql.Object[V]](
	ctx context.Context, s *server, mg resource.Managed, want *V, places []place, labels func(*V) map[string]string,
) error {
	if !meta.WasDeleted(mg) && meta.CheckRecreate(mg, time.Now()) == nil {
		return nil
	}
	var renamed error
	for _, p := range places {
		if p.oid == 0 {
			continue
		}
		now, _, err := s.WithOID(ctx, p.kind, p.oid)
		if err != nil {
			return unlessNotFound(err)
		}
		if now != *p.name && renamed == nil {
			renamed = isRenamed(mg, p, now, keepOr(mg, "another one"))
		}
		*p.name = now
	}
	if renamed == nil {
		return nil
	}
	have, err := postgresql.Get[V, T](ctx, s.Server, *want)
	g, isGrant := any(have).(*postgresql.Grant)
	switch {
	case postgresql.IsNotFound(err), err == nil && isGrant && g.Objects == 0: // there are no privileges on the tables of an empty schema
		return nil
	case err == nil && labels != nil && !slices.Contains([]string{"", string(mg.GetUID())}, ownerLabel(labels(have))):
		return nil
	}
	return renamed // also if that database permits no connections
}

// isRenamed is the error about an object whose database or role has another name now, perhaps to keep it.
func isRenamed(mg resource.Managed, p place, now, otherwise string) error {
	what := "to rename it back"
	if meta.WasDeleted(mg) {
		what = "whether to keep it"
	}
	return failure.ForTeam(failure.ExternalResourceFailed, fmt.Sprintf("the %s was renamed in the server: ask your platform team %s", p.kind, what),
		&postgresql.Error{Code: postgresql.CodeBadValue, Message: fmt.Sprintf("the %s of this object is named %q, not %q: rename it back by "+
			"ALTER %s %[2]q RENAME TO %[3]q; %[5]s", p.kind, now, *p.name, strings.ToUpper(p.kind), otherwise)})
}

// keepOr is what else helps an object that is being deleted, or one that is to have another external resource.
func keepOr(mg resource.Managed, another string) string {
	if meta.WasDeleted(mg) {
		return fmt.Sprintf("to keep it, set the annotation %s: \"true\"", meta.AnnotationKeyOrphanOnDelete)
	}
	return fmt.Sprintf("to create %s, set the annotation %s to %q", another, meta.AnnotationKeyRecreate, mg.GetUID())
}
