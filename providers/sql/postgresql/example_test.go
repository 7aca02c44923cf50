// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A team gets a database of its own, and a user that may read its contents.
func Example() {
	ctx := context.Background()
	server, err := postgresql.New(shared.Config()) // Endpoint, Port, Username and Password
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	team, yes := "example-team", true
	_, err = postgresql.Create(ctx, server, postgresql.Role{Name: team, Login: &yes, Password: "s3cret"})
	fmt.Println("role:", err)
	created, err := postgresql.Create(ctx, server, postgresql.Database{Name: "example", Labels: map[string]string{"owner": "42"}})
	fmt.Println("database:", created.Labels["owner"], err)
	tables := postgresql.Target{Kind: postgresql.OnTable, Database: "example", Schema: "public"}
	granted, err := postgresql.Create(ctx, server, postgresql.Grant{Role: team, On: tables, Privileges: []string{"SELECT"}})
	fmt.Println("grant:", granted.Privileges, err)

	_, err = postgresql.Create(ctx, server, postgresql.Database{Name: "example"})
	fmt.Println("again:", postgresql.IsExists(err), err)
	err = postgresql.ForceDelete(ctx, server, postgresql.Database{Name: "example"})
	fmt.Println("deleted:", err, postgresql.Delete(ctx, server, postgresql.Role{Name: team}))
	// Output:
	// role: <nil>
	// database: 42 <nil>
	// grant: [SELECT] <nil>
	// again: true database "example" already exists (SQLSTATE 42P04)
	// deleted: <nil> <nil>
}
