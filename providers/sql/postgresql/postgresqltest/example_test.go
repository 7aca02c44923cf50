// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresqltest_test

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// In TestMain, for all tests of a package.
func Example() {
	server, err := postgresqltest.Start("log_statement=all")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := postgresql.New(server.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.GetRole(context.Background(), "nobody")
	client.Close()
	fmt.Println(err, server.Stop())
	// Output: role "nobody" does not exist (SQLSTATE 42704) <nil>
}
