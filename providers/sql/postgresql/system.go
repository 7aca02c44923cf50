// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of objects, as messages name them.
const (
	kindDatabase  = "database"
	kindRole      = "role"
	kindSchema    = "schema"
	kindExtension = "extension"
)

// codeReservedName is also PostgreSQL's own refusal to create such an object.
const codeReservedName = "42939"

// IsReserved reports whether the name is that of a system object, which this package does not change.
func IsReserved(err error) bool { return has(err, codeReservedName) }

// CheckChange fails for objects that Create and Update refuse because of their name: PostgreSQL would cut it off, or it is IsReserved.
// To change those would damage the server, all its databases, or the access of this client.
func CheckChange[T any, P Object[T]](s *Server, x T) error {
	kind, name := P(&x).named()
	return s.checkChange(kind, name)
}

func (s *Server) checkChange(kind, name string) error {
	if kind == "" {
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	if isSystem(kind, name) || s.uses(kind, name) {
		return reserved(kind, name, "is neither created, adopted, changed nor deleted: choose another name")
	}
	return nil
}

// checkDelete is CheckChange for a deletion. The owner of a database may change its schema public, but others need it.
func (s *Server) checkDelete(kind, name string) error {
	if kind == kindSchema && name == "public" || isSystem(kind, name) || s.uses(kind, name) {
		return reserved(kind, name, "is not deleted: to delete its managed resource only, set deletionPolicy to Orphan")
	}
	return s.checkChange(kind, name)
}

func reserved(kind, name, what string) error {
	return &Error{Code: codeReservedName, Message: fmt.Sprintf("%s %q is reserved for the server or the provider, and %s", kind, name, what)}
}

// isSystem reports whether every server or every database has the object, or PostgreSQL reserves its name.
func isSystem(kind, name string) bool {
	switch kind {
	case kindDatabase:
		return slices.Contains([]string{"postgres", "template0", "template1"}, name)
	case kindRole:
		return slices.Contains([]string{"postgres", "public", "none"}, name) || strings.HasPrefix(name, "pg_")
	case kindSchema:
		return name == "information_schema" || strings.HasPrefix(name, "pg_")
	}
	return false
}

// uses reports whether this client connects to the database or as the role.
func (s *Server) uses(kind, name string) bool {
	return kind == kindDatabase && name == s.config.Database || kind == kindRole && name == s.config.Username
}
