// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// DefaultListen is the default address of a server.
const DefaultListen = "127.0.0.1:6443"

// Config configures a server.
type Config struct {
	// DataDir is the folder that holds all state: the database, keys and certificates, the lock, the administrator's
	// kubeconfig. Run creates it, with mode 0700, if it is missing. Required.
	DataDir string

	// Listen is the host:port to serve on; default DefaultListen. Port 0 picks a free one, see Server.Address.
	Listen string

	// Names are further DNS names and IP addresses of the serving certificate, beside localhost, 127.0.0.1, ::1 and the
	// host of Listen.
	Names []string

	// NoSync acknowledges writes before they are on disk. A crash of the machine then loses data: for tests only.
	NoSync bool

	// Log receives the messages of the server, of Kubernetes' libraries and of etcd; default: discard.
	Log logr.Logger
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	return c
}

// Validate returns every problem of the configuration at once, or nil.
func (c Config) Validate() error {
	var errs []error
	switch {
	case c.DataDir == "":
		errs = append(errs, errors.New("DataDir: required"))
	case strings.ContainsRune(c.DataDir, 0):
		errs = append(errs, errors.New("DataDir: contains a NUL byte"))
	case filepath.Clean(c.DataDir) == string(filepath.Separator):
		errs = append(errs, errors.New("DataDir: must not be the root folder"))
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		errs = append(errs, fmt.Errorf("listen address %q is not host:port", c.Listen))
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		errs = append(errs, fmt.Errorf("listen address %q has no port between 0 and 65535", c.Listen))
	}
	for _, name := range c.Names {
		domain := strings.TrimPrefix(name, "*.") // certificates may have a leading wildcard
		if net.ParseIP(name) == nil && len(validation.IsDNS1123Subdomain(domain)) > 0 {
			errs = append(errs, fmt.Errorf("name %q is neither an IP address nor a DNS name", name))
		}
	}
	return errors.Join(errs...)
}
