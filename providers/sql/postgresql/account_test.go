// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"os"
	"os/user"
	"strconv"
	"testing"
)

// giveToPostgres gives a folder to the account that servers run as when tests run as root.
func giveToPostgres(t *testing.T, folder string) {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folder, uid, -1); err != nil {
		t.Fatal(err)
	}
}
