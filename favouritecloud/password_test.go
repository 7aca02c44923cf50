// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// expectPassword waits until the instance is online and expects that a password opens it.
func (c *cloud) expectPassword(t *testing.T, e engine, name, password string) state {
	t.Helper()
	online := c.awaitOnline(t, e, name)
	if !e.opens(t, online, password) {
		t.Errorf("password %q does not open the server", password)
	}
	return online
}

func TestChosenPassword(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		// Naive quoting breaks these.
		const first, second = `it's "odd" \ $1 größer`, `also 'odd' \\ \' größer #1`
		c := startCloud(t, favouritecloud.Config{})
		created, err := c.instances(e).Create(t.Context(), object{"name": "orders", e.field: 20, "password": first})
		if err != nil || created.Password != first {
			t.Fatalf("the answer has password %q, error %v", created.Password, err)
		}
		e.ask(t, c.awaitOnline(t, e, "orders"), first, e.write)
		before := serversIn(t, c.dir)

		c.update(t, e, "orders", "password", second)
		online := c.expectPassword(t, e, "orders", second)
		if e.opens(t, online, first) {
			t.Error("the previous password opens the server")
		}
		if after := serversIn(t, c.dir); !slices.Equal(before, after) {
			t.Errorf("the server was restarted: %v became %v", before, after)
		}
		c.stop()
		c = startCloud(t, favouritecloud.Config{DataDir: c.dir})
		expectKept(t, c, e, online, second)
	})
}

// TestCacheIsUpdatedInPlace changes every setting of a cache, without a restart of the server.
func TestCacheIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), caches()
	password := c.create(t, e, "sessions")
	online := c.awaitOnline(t, e, "sessions")
	e.ask(t, online, password, e.write)
	before := serversIn(t, c.dir)
	connected, err := open(t, online, password)
	if err != nil {
		t.Fatal(err)
	}
	const chosen = "another password"
	c.call(t, "PATCH", "cache/instances/sessions", `{"memory_megabytes":32,"eviction_policy":"allkeys-lfu","password":"`+chosen+`"}`)
	online = c.expectPassword(t, e, "sessions", chosen)
	if info := e.ask(t, online, chosen, "INFO"); online.MemoryMegabytes != 32 || online.EvictionPolicy != "allkeys-lfu" ||
		!strings.Contains(info, "maxmemory:33554432\r") || !strings.Contains(info, "maxmemory_policy:allkeys-lfu\r") ||
		!strings.Contains(info, "redis_version:"+online.EngineVersion+".") {
		t.Errorf("after the update the API has %+v, the server\n%s", online, info)
	}
	if got, err := connected.do("GET", "kept"); got != "kept" || err != nil {
		t.Errorf("a client that was connected reads %q, %v", got, err)
	}
	if after := serversIn(t, c.dir); !slices.Equal(before, after) {
		t.Errorf("servers %v became %v", before, after)
	}

	stranger, err := open(t, online, "")
	if got, strangerErr := stranger.do("GET", "x"); err == nil || strangerErr == nil {
		t.Errorf("without a password the answer is %q", got)
	}
	for _, command := range []string{"CONFIG GET dir", "ACL LIST", "SHUTDOWN", "REPLICAOF x 1"} {
		if got, err := e.query(t, online, chosen, command); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%s answers %q, %v", command, got, err)
		}
	}
}

// TestSocketNeedsAPassword_N66 has a user reach for the socket of the cloud through the server, which can enter its folder.
func TestSocketNeedsAPassword_N66(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	password := c.create(t, e, "orders")
	online := c.awaitOnline(t, e, "orders")
	prepare, err := connectSQL(t, online, password)
	if err != nil {
		t.Fatal(err)
	}
	defer prepare.Close(t.Context()) // only used here
	run := func(sql string) error { return prepare.PgConn().Exec(t.Context(), sql).Close() }
	if err := run(`CREATE ROLE app; CREATE EXTENSION dblink; GRANT EXECUTE ON FUNCTION dblink_connect_u(text) TO app; SET ROLE app`); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"/proc/self/cwd", "/proc/self/cwd/..", "/proc/self/cwd/../socket-"} {
		reach := fmt.Sprintf(`SELECT dblink_connect_u('host=%s user=%s dbname=postgres port=%d')`, folder, online.Username, online.Port)
		answer, refused := errors.AsType[*pgconn.PgError](run(reach))
		if !refused || !strings.Contains(answer.Detail, "No such file") {
			t.Errorf("by folder %s the answer is %+v", folder, answer)
		}
	}
	for _, sql := range []string{"SHOW unix_socket_directories", "SELECT pg_ls_dir('..')"} {
		if err := run(sql); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestPasswordChangedDuringCreation(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	c.create(t, e, "orders")
	for n := range 4 {
		c.update(t, e, "orders", "password", fmt.Sprintf("password-%d", n))
	}
	c.expectPassword(t, e, "orders", "password-3")
}

// TestPasswordChangeOutlivesTheCloud creates the worst case: a change is in progress, another one is requested, the cloud is
// killed, and only then the first change takes effect. So the server has neither the password that the cloud last knew it
// to have nor the desired one.
func TestPasswordChangeOutlivesTheCloud(t *testing.T) {
	t.Parallel()
	c, e := spawnCloud(t, newDataDir(t)), databases()
	password := c.create(t, e, "orders")
	online := c.awaitOnline(t, e, "orders")
	conn, err := connectSQL(t, online, password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "begin; lock table pg_authid in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	c.update(t, e, "orders", "password", "password-1")
	eventually(t, "the change to be under way", func() string {
		var waiting int
		err := conn.QueryRow(t.Context(), "select count(*) from pg_locks where not granted").Scan(&waiting)
		if err == nil && waiting == 1 {
			return ""
		}
		return fmt.Sprintf("%d waiting, error %v", waiting, err)
	})
	c.update(t, e, "orders", "password", "password-2")
	c.kill()
	if _, err := conn.Exec(t.Context(), "commit"); err != nil {
		t.Fatal(errors.Join(err, conn.Close(t.Context())))
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first change to take effect", func() string {
		if e.opens(t, online, "password-1") {
			return ""
		}
		return "closed to its password"
	})
	c = spawnCloud(t, c.dir)
	c.expectPassword(t, e, "orders", "password-2")
}

// TestPreviousPassword has passwords of a cache that open it beside the next one for a while. The cloud is killed after each request.
func TestPreviousPassword(t *testing.T) {
	t.Parallel()
	c, e := spawnCloud(t, newDataDir(t)), caches()
	if _, err := c.instances(e).Create(t.Context(), object{"name": "orders", e.field: 20, "password": "password-0"}); err != nil {
		t.Fatal(err)
	}
	c.awaitOnline(t, e, "orders")
	for _, step := range []struct {
		reason string
		change object
		opens  string // the passwords that open the server, by their last digit
	}{
		{"the previous one stays", object{"password": "password-1", "previous_password_seconds": 600}, "01"},
		{"a repeated request loses none", object{"password": "password-1", "previous_password_seconds": 600}, "01"},
		{"another change loses none", object{e.field: 30}, "01"},
		{"older ones end", object{"password": "password-2", "previous_password_seconds": 600}, "12"},
		{"the previous one ends on request", object{"previous_password_seconds": 0}, "2"},
		{"what has ended stays so", object{"previous_password_seconds": 600}, "2"},
		{"one more", object{"password": "password-3", "previous_password_seconds": 600}, "23"},
		{"without a time all others end", object{"password": "password-4"}, "4"},
		{"the time ends", object{"password": "password-5", "previous_password_seconds": 1}, "5"},
	} {
		changed, err := c.instances(e).Update(t.Context(), "orders", step.change)
		if err != nil {
			t.Fatal(err)
		}
		c.kill()
		c = spawnCloud(t, c.dir)
		eventually(t, step.reason, func() string {
			opened, at := "", c.awaitOnline(t, e, "orders")
			for n := range 6 {
				if e.opens(t, at, fmt.Sprintf("password-%d", n)) {
					opened += strconv.Itoa(n)
				}
			}
			if now := time.Now(); !strings.Contains(opened, step.opens) || len(opened) < 2 && now.Before(changed.PreviousPasswordExpiresAt) {
				t.Errorf("%s: %s open the server at %s, previous until %s", step.reason, opened, now, changed.PreviousPasswordExpiresAt)
			}
			if opened == step.opens && at.PreviousPasswordExpiresAt.IsZero() == (len(opened) < 2) {
				return ""
			}
			return fmt.Sprintf("%s open the server, previous until %s", opened, at.PreviousPasswordExpiresAt)
		})
	}
}

// accepts returns the answer of the cloud about a password.
func (c *cloud) accepts(t *testing.T, e engine, name, password string) bool {
	t.Helper()
	accepted, err := c.instances(e).CheckPassword(t.Context(), name, password)
	if err != nil {
		t.Error(err)
	}
	return accepted
}

func codeOf(err error) string {
	answer, _ := errors.AsType[*sdk.APIError](err)
	if answer == nil {
		return ""
	}
	return answer.Code
}

func TestPasswordsAreCheckedOnTheServer(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := startCloud(t, favouritecloud.Config{})
		password := c.create(t, e, "orders")
		online := c.awaitOnline(t, e, "orders")
		for tried, want := range map[string]bool{password: true, "another-password": false, "": false, "'; select 1": false} {
			if got := c.accepts(t, e, "orders", tried); got != want {
				t.Errorf("password %q is accepted: %t", tried, got)
			}
		}
		server, err := os.FindProcess(serversIn(t, c.dir)[0])
		if err == nil {
			err = server.Signal(syscall.SIGSTOP)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.instances(e).CheckPassword(t.Context(), "orders", password); codeOf(err) != sdk.CodeConflict {
			t.Errorf("a server that does not answer: %v", err)
		}
		if err := server.Signal(syscall.SIGCONT); err != nil || !e.opens(t, online, password) {
			t.Errorf("the server does not continue: %v", err)
		}
	})
}

// TestPasswordChangedWithSQL recovers an instance whose password was changed without the cloud.
func TestPasswordChangedWithSQL(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	password := c.create(t, e, "orders")
	online := c.awaitOnline(t, e, "orders")
	before := serversIn(t, c.dir)
	for _, change := range []string{"password 'by-the-user'", "valid until '2001-01-01'", "password null"} {
		e.ask(t, online, password, "alter role postgres "+change)
		if c.accepts(t, e, "orders", password) {
			t.Errorf("after %s the former password is accepted", change)
		}
		c.update(t, e, "orders", "password", password)
		c.expectPassword(t, e, "orders", password)
	}
	if after := serversIn(t, c.dir); !slices.Equal(before, after) {
		t.Errorf("the server was restarted: %v became %v", before, after)
	}
}

func TestPasswordsAreNotShown(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := spawnCloud(t, newDataDir(t))
		const first, second, field = "first-secret-1", "second-secret-2", `"password":`
		in := object{"name": "orders", e.field: 20, "password": first}
		created, err := c.instances(e).Create(t.Context(), in, sdk.WithIdempotencyKey("k"))
		if err != nil {
			t.Fatal(err)
		}
		c.awaitOnline(t, e, "orders")
		var seen strings.Builder
		show := func(method, path, body string) {
			seen.WriteString(c.request(t, method, "/v1/projects/demo/"+e.service+"/instances"+path, c.apiKey, body).text)
		}
		show("PATCH", "/orders", fmt.Sprintf(`{"password":%q}`, second))
		c.awaitOnline(t, e, "orders")
		show("POST", "/orders:checkPassword", fmt.Sprintf(`{"password":%q}`, first))
		show("POST", "/orders:checkPassword", fmt.Sprintf(`{"password":%q}`, second))
		show("POST", "/orders:checkPassword", fmt.Sprintf(`{"%s":1}`, second[:5]))
		show("PATCH", "/orders", fmt.Sprintf(`{"password":"%s\n"}`, second))
		show("PATCH", "/orders", fmt.Sprintf(`{"password":{"%s":1}}`, second))
		show("PATCH", "/orders", fmt.Sprintf(`{"password":["%s"]}`, second))
		show("POST", "", fmt.Sprintf(`{"name":"orders","%s":20,"password":%q}`, e.field, second))
		show("GET", "/orders", "")
		show("GET", "", "")
		paths := []string{filepath.Join(c.folder(e, created.ID), "server.log"), fmt.Sprintf("/proc/%d/cmdline", serversIn(t, c.dir)[0])}
		if e.service == "cache" {
			paths = append(paths, filepath.Join(c.folder(e, created.ID), "redis.conf"))
			if info, err := os.Stat(paths[2]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("configuration file: %v, error %v", info, err)
			}
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			seen.Write(content)
		}
		show("DELETE", "/orders", "")
		c.delete(t, e, "orders")
		c.stop()
		seen.Write(c.log.Bytes())
		for _, secret := range []string{first, second, field} {
			if strings.Contains(seen.String(), secret) {
				t.Errorf("a password is shown in:\n%s", seen.String())
			}
		}
	})
}
