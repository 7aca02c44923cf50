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
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// An engine is one of the services whose instances are servers, for tests that apply to each of them.
type engine struct {
	service string
	field   string // of requests: the size that update changes
	// size, write and read are requests of a client of the server.
	size  func(t *testing.T, at state, password string) int
	write func(t *testing.T, at state, password, value string)
	read  func(t *testing.T, at state, password string) string
	// hide makes the cloud search the program in a folder only, and install puts it there. need is the command that installs it.
	hide    func(config *favouritecloud.Config, folder string) (need string)
	install func(t *testing.T, folder string)
}

// state is an answer of either service.
type state struct {
	ID        int    `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Message   string `json:"message"`
	Hostname  string `json:"hostname"`
	Port      int    `json:"port"`
	Username  string `json:"username"`
	Password  string `json:"password"`
	Fanciness int    `json:"fanciness_level"`
	Megabytes int    `json:"memory_megabytes"`
}

func (s state) size() int { return s.Fanciness + s.Megabytes }

func (s state) database() *database.Instance {
	return &database.Instance{Name: s.Name, Hostname: s.Hostname, Port: s.Port, Username: s.Username}
}

func (s state) cache() *cache.Instance {
	return &cache.Instance{Name: s.Name, Hostname: s.Hostname, Port: s.Port, Username: s.Username}
}

func (c *cloud) instances(e engine) *sdk.Collection[state, state, map[string]any, map[string]any] {
	return sdk.NewCollection[state, state, map[string]any, map[string]any](c.client, e.service+"/instances", "instances")
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

// newInstance requests an instance and returns its password.
func (c *cloud) newInstance(t *testing.T, e engine, name string, opts ...sdk.CallOption) (password string, err error) {
	created, err := c.instances(e).Create(t.Context(), map[string]any{"name": name, e.field: 20}, opts...)
	if err != nil {
		return "", err
	}
	return created.Password, nil
}

func (c *cloud) mustCreate(t *testing.T, e engine, name string) (password string) {
	t.Helper()
	password, err := c.newInstance(t, e, name)
	if err != nil {
		t.Fatal(err)
	}
	return password
}

func (c *cloud) update(t *testing.T, e engine, name, field string, value any) error {
	_, err := c.instances(e).Update(t.Context(), name, map[string]any{field: value})
	return err
}

func (c *cloud) get(t *testing.T, e engine, name string) (state, error) {
	at, err := c.instances(e).Get(t.Context(), name)
	if err != nil {
		return state{}, err
	}
	return *at, nil
}

// await returns the instance once it is online.
func (c *cloud) await(t *testing.T, e engine, name string) (online state) {
	t.Helper()
	eventually(t, name+" to be online", func() string {
		var err error
		if online, err = c.get(t, e, name); err == nil && online.Status == sdk.StatusOnline {
			return ""
		}
		return fmt.Sprint(online.Status, " ", online.Message, " ", err)
	})
	return online
}

func (c *cloud) awaitDeleted(t *testing.T, e engine, name string) {
	t.Helper()
	eventually(t, name+" to be deleted", func() string {
		at, err := c.get(t, e, name)
		if sdk.IsNotFound(err) {
			return ""
		}
		return fmt.Sprint(at.Status, " ", at.Message, " ", err)
	})
}

// awaitFailure waits until the status is FAILED with a message that contains the text.
func (c *cloud) awaitFailure(t *testing.T, e engine, name, text string) {
	t.Helper()
	eventually(t, name+" to fail", func() string {
		at, err := c.get(t, e, name)
		if err == nil && at.Status == sdk.StatusFailed && strings.Contains(at.Message, text) {
			return ""
		}
		return fmt.Sprint(at.Status, " ", at.Message, " ", err)
	})
}

func databases() engine {
	return engine{
		service: "database", field: "fanciness_level",
		size: func(t *testing.T, at state, password string) int {
			t.Helper()
			return number(t, query(t, at.database(), password, "show max_connections"))
		},
		write: func(t *testing.T, at state, password, value string) {
			t.Helper()
			execute(t, at.database(), password, "create table kept as select '"+value+"' as value")
		},
		read: func(t *testing.T, at state, password string) string {
			t.Helper()
			return query(t, at.database(), password, "select value from kept")
		},
		hide: func(config *favouritecloud.Config, folder string) string {
			config.PostgresSearchPath = []string{folder}
			return "apt-get install postgresql)"
		},
		install: func(t *testing.T, folder string) {
			t.Helper()
			installed, err := filepath.Glob("/usr/lib/postgresql/*/bin")
			if err != nil || len(installed) == 0 {
				t.Fatalf("no /usr/lib/postgresql/*/bin (%v): apt-get install postgresql", err)
			}
			for _, program := range []string{"initdb", "postgres"} {
				if err := os.Symlink(filepath.Join(installed[len(installed)-1], program), filepath.Join(folder, program)); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}

func caches() engine {
	return engine{
		service: "cache", field: "memory_megabytes",
		size: func(t *testing.T, at state, password string) int {
			t.Helper()
			_, rest, _ := strings.Cut(ask(t, at.cache(), password, "INFO", "memory"), "maxmemory:")
			bytes, _, _ := strings.Cut(rest, "\r")
			return number(t, bytes) >> 20
		},
		write: func(t *testing.T, at state, password, value string) {
			t.Helper()
			ask(t, at.cache(), password, "SET", "kept", value)
		},
		read: func(t *testing.T, at state, password string) string {
			t.Helper()
			return ask(t, at.cache(), password, "GET", "kept")
		},
		hide: func(config *favouritecloud.Config, folder string) string {
			config.RedisSearchPath = []string{folder}
			return "apt-get install redis-server)"
		},
		install: func(t *testing.T, folder string) {
			t.Helper()
			if err := errors.Join(os.Chmod(folder, 0o755), os.Chmod(filepath.Dir(folder), 0o755),
				os.WriteFile(filepath.Join(folder, "redis-server"), []byte("#!/bin/sh\nexec redis-server \"$@\"\n"), 0o755)); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// query runs a statement and returns its one value.
func query(t *testing.T, i *database.Instance, password, sql string) (value string) {
	t.Helper()
	withConnection(t, i, password, func(conn *pgx.Conn) error { return conn.QueryRow(t.Context(), sql).Scan(&value) })
	return value
}

func execute(t *testing.T, i *database.Instance, password, sql string) {
	t.Helper()
	withConnection(t, i, password, func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	})
}

func withConnection(t *testing.T, i *database.Instance, password string, use func(*pgx.Conn) error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), i.URL(password))
	if err != nil {
		t.Fatalf("connecting to %s: %v", i.Name, err)
	}
	if err := errors.Join(use(conn), conn.Close(context.Background())); err != nil {
		t.Fatalf("using %s: %v", i.Name, err)
	}
}

// session is a connection of a client of Redis.
type session struct {
	conn    net.Conn
	replies *bufio.Reader
}

// open connects and authenticates with a password, as clients do.
func open(t *testing.T, i *cache.Instance, password string) (*session, error) {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort(i.Hostname, strconv.Itoa(i.Port)))
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

// ask sends one command on a connection of its own.
func ask(t *testing.T, i *cache.Instance, password string, words ...string) string {
	t.Helper()
	s, err := open(t, i, password)
	if err != nil {
		t.Fatalf("connecting to %s: %v", i.Name, err)
	}
	reply, err := s.do(words...)
	if err != nil {
		t.Fatalf("%s: %v", words[0], err)
	}
	return reply
}
