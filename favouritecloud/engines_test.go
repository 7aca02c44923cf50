// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

// An engine is one of the services whose instances are servers, for tests that apply to each of them.
type engine struct {
	service, username string
	field             string // of requests: the size that update changes
	// absent is a version that no machine has, version its field in requests, advice the part of the message with the package.
	version, absent, advice string
	// query runs a command of a client of the server and returns the answer. size reads the size from the answer to show.
	query             func(t *testing.T, at state, password, command string) (string, error)
	show, write, read string
	size              func(answer string) string
	parts             []string // files and folders below that of a server, without which it must not start
	// hide makes the cloud search the program in a folder only, and install puts it there. need is the command that installs it.
	hide    func(config *favouritecloud.Config, folder string) (need string)
	install func(folder string) error
}

// state is an answer of either service.
type state struct {
	cache.Instance
	Fanciness int    `json:"fanciness_level"`
	Version   string `json:"version"`
	Password  string `json:"password"`
}

func (s state) size() int { return s.Fanciness + s.MemoryMegabytes }

func databases() engine {
	return engine{
		service: "database", username: "postgres", field: "fanciness_level", query: querySQL,
		version: "version", absent: "9", advice: "apt-get install postgresql-9)",
		show: "show max_connections", size: func(answer string) string { return answer },
		parts: []string{"data/PG_VERSION"},
		write: "create table kept as select 'kept' as value", read: "select value from kept",
		hide: func(config *favouritecloud.Config, folder string) string {
			config.PostgresSearchPath = []string{folder}
			return "apt-get install postgresql)"
		},
		install: func(folder string) error {
			installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
			newest := installed[len(installed)-1]
			return errors.Join(err, os.Symlink(filepath.Join(newest, "initdb"), filepath.Join(folder, "initdb")),
				os.Symlink(filepath.Join(newest, "postgres"), filepath.Join(folder, "postgres")))
		},
	}
}

func caches() engine {
	return engine{
		service: "cache", username: "default", field: "memory_megabytes", query: queryRedis,
		version: "engine_version", absent: "2.8", advice: "apt-get install redis-server)",
		parts: []string{"data/appendonlydir", "data/appendonlydir/appendonly.aof.manifest"},
		show:  "INFO memory", write: "SET kept kept", read: "GET kept",
		size: func(answer string) string {
			_, rest, _ := strings.Cut(answer, "maxmemory:")
			megabytes, _, _ := strings.Cut(rest, "\r")
			n, _ := strconv.Atoi(megabytes)
			return strconv.Itoa(n >> 20)
		},
		hide: func(config *favouritecloud.Config, folder string) string {
			config.RedisSearchPath = []string{folder}
			return "apt-get install redis-server)"
		},
		install: func(folder string) error {
			return errors.Join(os.Chmod(folder, 0o755), os.Chmod(filepath.Dir(folder), 0o755),
				os.WriteFile(filepath.Join(folder, "redis-server"), []byte("#!/bin/sh\nexec redis-server \"$@\"\n"), 0o755))
		},
	}
}

// forEachEngine runs a test for databases and for caches.
func forEachEngine(t *testing.T, test func(t *testing.T, e engine)) {
	t.Parallel()
	for _, e := range []engine{databases(), caches()} {
		t.Run(e.service, func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

// ask runs a command of a client and returns the answer.
func (e engine) ask(t *testing.T, at state, password, command string) string {
	t.Helper()
	answer, err := e.query(t, at, password, command)
	if err != nil {
		t.Fatalf("%s of %s: %v", command, at.Name, err)
	}
	return answer
}

// opens reports whether the password opens the server.
func (e engine) opens(t *testing.T, at state, password string) bool {
	t.Helper()
	_, err := e.query(t, at, password, e.show)
	return err == nil
}

// instances is the client of an engine.
func (c *cloud) instances(e engine) *sdk.Collection[state, state, object, object] {
	return sdk.NewCollection[state, state, object, object](c.client, e.service+"/instances", "instances")
}

func (c *cloud) create(t *testing.T, e engine, name string) (password string) {
	t.Helper()
	created, err := c.instances(e).Create(t.Context(), object{"name": name, e.field: 20})
	if err != nil {
		t.Fatal(err)
	}
	return created.Password
}

func (c *cloud) update(t *testing.T, e engine, name, field string, value any) state {
	t.Helper()
	updated, err := c.instances(e).Update(t.Context(), name, object{field: value})
	if err != nil {
		t.Fatal(err)
	}
	return *updated
}

// await waits until the instance has the status, with a message that contains the text.
func (c *cloud) await(t *testing.T, e engine, name, status, text string) (at state) {
	t.Helper()
	eventually(t, name+" to be "+status, func() string {
		got, err := c.instances(e).Get(t.Context(), name)
		if err != nil {
			return err.Error()
		}
		if at = *got; at.Status == status && strings.Contains(at.Message, text) {
			return ""
		}
		return at.Status + " " + at.Message
	})
	return at
}

func (c *cloud) awaitOnline(t *testing.T, e engine, name string) state {
	t.Helper()
	return c.await(t, e, name, sdk.StatusOnline, "")
}

// delete deletes an instance and waits until it is gone.
func (c *cloud) delete(t *testing.T, e engine, name string) {
	t.Helper()
	if err := c.instances(e).Delete(t.Context(), name); err != nil && !sdk.IsNotFound(err) {
		t.Fatal(err)
	}
	eventually(t, name+" to be deleted", func() string {
		at, err := c.instances(e).Get(t.Context(), name)
		if sdk.IsNotFound(err) {
			return ""
		}
		return fmt.Sprint(at, err)
	})
}

// folder returns the folder of an instance.
func (c *cloud) folder(e engine, id int) string {
	return filepath.Join(c.dir, "instances", fmt.Sprintf("%s-%d", e.service, id))
}

// querySQL runs a statement and returns its one value, if it has one.
func querySQL(t *testing.T, at state, password, sql string) (value string, err error) {
	t.Helper()
	conn, err := connectSQL(t, at, password)
	if err != nil {
		return "", err
	}
	rows, err := conn.Query(t.Context(), sql)
	if err == nil && rows.Next() {
		err = rows.Scan(&value)
	}
	rows.Close()
	return value, errors.Join(err, rows.Err(), conn.Close(context.Background()))
}

func connectSQL(t *testing.T, at state, password string) (*pgx.Conn, error) {
	t.Helper()
	target := url.URL{
		Scheme: "postgres", User: url.UserPassword(at.Username, password), Host: net.JoinHostPort(at.Hostname, strconv.Itoa(at.Port)),
		Path: "/postgres",
	}
	return pgx.Connect(t.Context(), target.String())
}

// session is a connection of a client of Redis.
type session struct {
	conn    net.Conn
	replies *bufio.Reader
}

// open connects and authenticates with a password, as clients do.
func open(t *testing.T, at state, password string) (*session, error) {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(at.Hostname, strconv.Itoa(at.Port)))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	s := &session{conn: conn, replies: bufio.NewReader(conn)}
	_, err = s.do("AUTH", password)
	return s, err
}

// do sends one command and returns its reply.
func (s *session) do(words ...string) (string, error) {
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(s.conn, request); err != nil {
		return "", err
	}
	line, err := s.replies.ReadString('\n')
	line = strings.TrimSpace(line)
	if size, bulk := strings.CutPrefix(line, "$"); bulk && size != "-1" && err == nil {
		n, _ := strconv.Atoi(size)
		text := make([]byte, n+2)
		_, err := io.ReadFull(s.replies, text)
		return string(text[:n]), err
	}
	if refusal, refused := strings.CutPrefix(line, "-"); refused {
		return "", errors.New(refusal)
	}
	return strings.TrimLeft(line, "+:$"), err
}

// queryRedis sends one command on a connection of its own.
func queryRedis(t *testing.T, at state, password, command string) (string, error) {
	t.Helper()
	s, err := open(t, at, password)
	if err != nil {
		return "", err
	}
	return s.do(strings.Fields(command)...)
}
