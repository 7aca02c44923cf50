// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/cache"
	"github.com/bowline-dev/bowline/favouritecloud/internal/database"
)

// Default values of Config.
const (
	DefaultListen            = "127.0.0.1:7070" // the default of Config.Listen
	DefaultRetryInterval     = 10 * time.Second // the default of Config.RetryInterval
	DefaultAutoscaleInterval = 30 * time.Second // the default of Config.AutoscaleInterval
)

// Config describes a cloud. Only DataDir is required.
type Config struct {
	DataDir string // the folder of all state. It is created if it does not exist. Only one cloud can use it at a time.
	Listen  string // the host:port of the API. Port 0 selects a free one. Default: DefaultListen.
	// InstanceDir is the folder of the data of instances, by far the largest part. Default: DataDir/instances. If the cloud runs as
	// root, servers run as another account (postgres, else nobody), which must be able to reach the folder. If it cannot reach
	// DataDir, for example below /root, the default is /var/lib/favouritecloud-HASH, with a hash of DataDir, and DataDir/instances
	// is a link to it. The folder is chosen at the first start; later a different InstanceDir is refused.
	InstanceDir string
	// PostgresSearchPath is searched for PostgreSQL: folders, or patterns of folders as in filepath.Match.
	// Default: the folders of PATH, then /usr/lib/postgresql/*/bin.
	PostgresSearchPath []string
	// RedisSearchPath are the folders that are searched for Redis. Default: the folders of PATH, then /usr/local/bin and /usr/bin.
	RedisSearchPath []string
	RetryInterval   time.Duration // the maximum backoff before a failed instance is retried. Default: DefaultRetryInterval.
	// AutoscaleInterval is the pause between steps of the autoscaler of node groups.
	// Default: DefaultAutoscaleInterval.
	AutoscaleInterval time.Duration
	// CloudAdmin enables the routes below /admin, which inject faults into calls and count them. They require the admin token.
	// Default: disabled.
	CloudAdmin bool
	Log        *slog.Logger // receives events, and every request at level debug, but no secrets. Default: discard.
}

func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.RetryInterval = cmp.Or(c.RetryInterval, DefaultRetryInterval)
	c.AutoscaleInterval = cmp.Or(c.AutoscaleInterval, DefaultAutoscaleInterval)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.PostgresSearchPath == nil {
		c.PostgresSearchPath = database.DefaultSearchPath()
	}
	if c.RedisSearchPath == nil {
		c.RedisSearchPath = cache.DefaultSearchPath()
	}
	return c
}

// Validate returns every problem of the configuration, joined.
func (c Config) Validate() error {
	var problems []error
	if c.DataDir == "" {
		problems = append(problems, errors.New("data folder is required"))
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			problems = append(problems, fmt.Errorf("listen address %q is not host:port: %w", c.Listen, err))
		}
	}
	if c.RetryInterval < 0 {
		problems = append(problems, fmt.Errorf("retry interval %s is negative", c.RetryInterval))
	}
	if c.AutoscaleInterval < 0 {
		problems = append(problems, fmt.Errorf("autoscale interval %s is negative", c.AutoscaleInterval))
	}
	return errors.Join(problems...)
}
