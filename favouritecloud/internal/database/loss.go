// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// databaseFile is in the data. It has the OID of the database that clients open, which a new database of the same name does not have.
const databaseFile = "favouritecloud-database"

// checkDatabase reports a database that was created in place of the one that clients have data in. It records the OID of the first one.
func (d *driver) checkDatabase(ctx context.Context, session *pgconn.PgConn) error {
	found, err := session.Exec(ctx, "select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()").ReadAll()
	if err == nil && (len(found) != 1 || len(found[0].Rows) != 1) {
		err = errors.New("renamed meanwhile")
	}
	if err != nil {
		return fmt.Errorf("reading OID of database %s: %w", database, err)
	}
	oid := string(found[0].Rows[0][0])
	recorded, err := host.ReadIn(d.Data(), databaseFile)
	if errors.Is(err, fs.ErrNotExist) {
		recorded, err = oid, host.WriteIn(d.Data(), databaseFile, oid+"\n")
	}
	if err != nil {
		return &host.Fault{Cause: fmt.Sprintf("recording OID of database %s: %v", database, err)}
	}
	if recorded = strings.TrimSpace(recorded); oid == recorded {
		return nil
	}
	return &host.Fault{Cause: fmt.Sprintf("database %[1]s was dropped or renamed, and created anew: it has OID %[2]s instead of %[3]s, and not the data "+
		"of its clients: rename the one with OID %[3]s back to %[1]s if it exists, else restore a backup; if the loss is meant, delete %[4]s",
		database, oid, recorded, filepath.Join(d.Data(), databaseFile))}
}
