// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// oddPassword holds what naive quoting gets wrong.
const oddPassword = `it's "odd" \ $1 größer`

func (c *cloud) setPassword(t *testing.T, name, password string) {
	t.Helper()
	if _, err := c.databases.Update(t.Context(), name, database.UpdateInstanceInput{Password: &password}); err != nil {
		t.Fatal(err)
	}
}

// opens reports whether the password opens the database.
func opens(t *testing.T, i *database.Instance, password string) bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), i.URL(password))
	if err != nil {
		return false
	}
	return conn.Close(t.Context()) == nil
}

func TestChosenPassword(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c := startCloud(t, favouritecloud.Config{DataDir: dir})
	created := create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Password: new(oddPassword)})
	if created.Password != oddPassword {
		t.Errorf("the create answered another password than was requested")
	}
	online := c.awaitOnline(t, "orders")
	execute(t, online, oddPassword, "create table kept as select 'still there' as value")
	before := serversIn(t, dir)

	const second = `also 'odd' \\ \' größer`
	c.setPassword(t, "orders", second)
	online = c.awaitOnline(t, "orders")
	if got := query(t, online, second, "select value from kept"); got != "still there" {
		t.Errorf("the table holds %q", got)
	}
	if opens(t, online, oddPassword) {
		t.Error("the password before still opens the database")
	}
	if after := serversIn(t, dir); len(after) != 1 || after[0] != before[0] {
		t.Errorf("the server was restarted: %v became %v", before, after)
	}

	c.stop()
	c = startCloud(t, favouritecloud.Config{DataDir: dir})
	c.awaitOnline(t, "orders")
	killServer(t, c, databases(), "orders")
	if online = c.awaitOnline(t, "orders"); !opens(t, online, second) || opens(t, online, oddPassword) {
		t.Error("a restarted server has not the password that was requested last")
	}
}

func TestPasswordChangedWhileTheServerIsMade(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Password: new("password-0")})
	for n := range 4 {
		c.setPassword(t, "orders", fmt.Sprintf("password-%d", n+1))
	}
	if online := c.awaitOnline(t, "orders"); !opens(t, online, "password-4") {
		t.Error("the password that was requested last does not open the database")
	}
}

// TestPasswordChangeSurvivesKill kills the cloud while it changes the password. Whether the server has the old or the
// new one then, the next change must succeed, be it a repeat or another one.
func TestPasswordChangeSurvivesKill(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	const rounds, longest = 8, 40
	for round := range rounds {
		c.awaitOnline(t, "orders")
		wanted := fmt.Sprintf("password-%d", round)
		c.setPassword(t, "orders", wanted)
		<-time.After(time.Duration(rand.IntN(longest)) * time.Millisecond)
		cloudProcess.end(t, syscall.SIGKILL)
		c, cloudProcess = spawnCloud(t, dir)
		switch round % 3 {
		case 0: // The cloud resumes automatically.
		case 1:
			c.setPassword(t, "orders", wanted)
		case 2:
			wanted += " and more"
			c.setPassword(t, "orders", wanted)
		}
		if online := c.awaitOnline(t, "orders"); !opens(t, online, wanted) {
			t.Fatalf("round %d: the password that was requested last does not open the database", round)
		}
	}
}

// TestPasswordChangeOutlivesTheCloud creates the worst case: a change is in progress, another one is requested, the cloud is
// killed, and only then the first change takes effect. So the server has neither the password that the cloud last knew it
// to have nor the one that is wanted.
func TestPasswordChangeOutlivesTheCloud(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Password: new("password-0")})
	online := c.awaitOnline(t, "orders")
	withConnection(t, online, "password-0", func(conn *pgx.Conn) error {
		if _, err := conn.Exec(t.Context(), "begin; lock table pg_authid in exclusive mode"); err != nil {
			return err
		}
		c.setPassword(t, "orders", "password-1")
		eventually(t, "the change to be under way", func() string {
			var waiting int
			err := conn.QueryRow(t.Context(), "select count(*) from pg_locks where not granted").Scan(&waiting)
			if err == nil && waiting == 1 {
				return ""
			}
			return fmt.Sprintf("%d waiting, error %v", waiting, err)
		})
		c.setPassword(t, "orders", "password-2")
		cloudProcess.end(t, syscall.SIGKILL)
		_, err := conn.Exec(t.Context(), "commit")
		return err
	})
	eventually(t, "the first change to take effect", func() string {
		if opens(t, online, "password-1") {
			return ""
		}
		return "closed to its password"
	})
	c, _ = spawnCloud(t, dir)
	if online = c.awaitOnline(t, "orders"); !opens(t, online, "password-2") {
		t.Error("the password that was requested last does not open the database")
	}
}

// TestPasswordChangedWithSQL recovers an instance whose password was changed without the cloud.
func TestPasswordChangedWithSQL(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{DataDir: newDataDir(t)})
	create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Password: new("password-0")})
	online := c.awaitOnline(t, "orders")
	execute(t, online, "password-0", "alter role postgres password 'by-the-user'")
	c.setPassword(t, "orders", "password-1")
	c.awaitFailure(t, databases(), "orders", "changed with SQL")
	c.setPassword(t, "orders", "by-the-user")
	if online = c.awaitOnline(t, "orders"); !opens(t, online, "by-the-user") {
		t.Error("the password does not open the database")
	}
	c.setPassword(t, "orders", "password-2")
	if online = c.awaitOnline(t, "orders"); !opens(t, online, "password-2") {
		t.Error("the password cannot be changed any more")
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	c, cloudProcess := spawnCloud(t, dir)
	const first, second, field = "first-secret-1", "second-secret-2", `"password":`
	created := create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Password: new(first)}, sdk.WithIdempotencyKey("k"))
	c.awaitOnline(t, "orders")
	var seen bytes.Buffer
	base := c.url + "/v1/projects/demo/database/instances"
	show := func(method, path, body string) {
		_, answer := request(t, method, base+path, c.apiKey, body, nil)
		seen.WriteString(answer)
	}
	show("PATCH", "/orders", fmt.Sprintf(`{"password":%q}`, second))
	c.awaitOnline(t, "orders")
	show("PATCH", "/orders", fmt.Sprintf(`{"password":"%s\n"}`, second))
	show("PATCH", "/orders", fmt.Sprintf(`{"password":{"%s":1}}`, second))
	show("PATCH", "/orders", fmt.Sprintf(`{"password":["%s"]}`, second))
	show("POST", "", fmt.Sprintf(`{"name":"orders","fanciness_level":20,"password":%q}`, second))
	show("GET", "/orders", "")
	show("GET", "", "")
	show("DELETE", "/orders", "")
	log, err := os.ReadFile(filepath.Join(dir, "instances", fmt.Sprintf("database-%d", created.ID), "server.log"))
	if err == nil { // Else the delete was quicker.
		seen.Write(log)
	}
	c.awaitDeleted(t, databases(), "orders")
	cloudProcess.end(t, syscall.SIGINT)
	seen.Write(cloudProcess.log.Bytes())
	for _, secret := range []string{first, second, field} {
		if strings.Contains(seen.String(), secret) {
			t.Errorf("a password is shown in:\n%s", &seen)
		}
	}
}

// TestReplayHoldsTheFirstPassword pins what an answer that is repeated means: it describes the moment of the create.
func TestReplayHoldsTheFirstPassword(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	in := database.CreateInstanceInput{Name: "orders", FancinessLevel: 20, Password: new("password-0")}
	create(t, c.databases, in, sdk.WithIdempotencyKey("k"))
	c.setPassword(t, "orders", "password-1")
	if again := create(t, c.databases, in, sdk.WithIdempotencyKey("k")); again.Password != "password-0" || !again.Replayed {
		content, err := json.Marshal(again)
		t.Errorf("the repeat is answered %s, error %v", content, err)
	}
}
