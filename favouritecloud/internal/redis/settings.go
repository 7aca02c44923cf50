// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// Username is the user of clients.
const Username = "default"

// controlUser is the user of this package.
const controlUser = "cloud"

const socketName = "control.sock"

// Settings are the settings of a server. All but the port can be changed while it runs.
type Settings struct {
	// Port is the TCP port on host.Loopback.
	Port int
	// MemoryMegabytes limits the memory of the data, in units of 2^20 bytes.
	MemoryMegabytes int
	// EvictionPolicy selects what is evicted at that limit: Redis's maxmemory-policy.
	EvictionPolicy string
	// Password is the password of clients.
	Password string
}

func (s Settings) memory() string { return strconv.Itoa(s.MemoryMegabytes << 20) }

// clientRules are the permissions of clients, as ACL rules.
func (s Settings) clientRules() []string {
	return []string{"reset", "on", passwordRule(s.Password), "~*", "&*", "+@all", "-@admin"}
}

// passwordRule is the ACL rule that adds a password by its hash.
func passwordRule(password string) string {
	hash := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(hash[:])
}

// config returns the configuration file of a server in a folder. Writes survive a kill of the server at once, and are on disk a
// second later at most.
func (s Settings) config(data, secret string) string {
	lines := []string{
		"bind " + host.Loopback,
		"port " + strconv.Itoa(s.Port),
		"dir " + quote(data),
		"unixsocket " + socketName, // Relative to dir, since Linux limits the length of the path.
		"unixsocketperm 700",
		"set-proc-title no", // The arguments show which server has which folder.
		"appendonly yes",
		"appendfsync everysec",
		`save ""`,
		"maxmemory " + s.memory(),
		"maxmemory-policy " + s.EvictionPolicy,
		"user " + Username + " " + strings.Join(s.clientRules(), " "),
		"user " + controlUser + " reset on " + passwordRule(secret) + " ~* &* +@all",
	}
	return strings.Join(lines, "\n") + "\n"
}

// quote quotes a path for Redis's configuration file.
func quote(path string) string {
	var quoted strings.Builder
	for _, b := range []byte(filepath.Clean(path)) {
		if b < ' ' || b == '"' || b == '\\' {
			fmt.Fprintf(&quoted, `\x%02x`, b)
			continue
		}
		quoted.WriteByte(b)
	}
	return `"` + quoted.String() + `"`
}
