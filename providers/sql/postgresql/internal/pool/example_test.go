// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/providers/sql/postgresql/internal/pool"
)

// What the pool does with real connections, package postgresql proves.
func Example() {
	config, err := pgx.ParseConfig("host=localhost user=nobody sslmode=disable")
	if err != nil {
		fmt.Println(err)
		return
	}
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil }
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody is there") }
	p := pool.New(config, pool.Limits{Conns: 1, Idle: time.Second})
	defer p.Close()
	err = p.Do(context.Background(), "orders", func(context.Context, *pgx.Conn) error { return nil })
	_, unconnected := errors.AsType[*pool.ConnectError](err)
	fmt.Println(unconnected)
	// Output: true
}
