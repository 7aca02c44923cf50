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

	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
)

// Username is the user that clients are.
const Username = "default"

// controlUser is the user that this package is.
const controlUser = "cloud"

const socketName = "control.sock"

// Settings are what a server runs with. All but the port can be changed while it does.
type Settings struct {
	// Port is the TCP port on ports.Host.
	Port int
	// MemoryMegabytes is how much memory the data may take, in units of 2^20 bytes.
	MemoryMegabytes int
	// EvictionPolicy says what gives way when that is full: Redis's maxmemory-policy.
	EvictionPolicy string
	// Password is that of clients.
	Password string
}

func (s Settings) memory() string { return strconv.Itoa(s.MemoryMegabytes << 20) }

// clientRules say what clients may do, in Redis's language for users.
func (s Settings) clientRules() []string {
	return []string{"reset", "on", passwordRule(s.Password), "~*", "&*", "+@all", "-@admin"}
}

// passwordRule gives a user a password without telling it.
func passwordRule(password string) string {
	hash := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(hash[:])
}

// config returns the configuration file of a server in a folder. What is written is on disk a second later at most, and
// survives a kill of the server at once.
func (s Settings) config(data, secret string) string {
	lines := []string{
		"bind " + ports.Host,
		"port " + strconv.Itoa(s.Port),
		"dir " + quote(data),
		"unixsocket " + socketName, // Relative to dir, since the system wants such names short.
		"unixsocketperm 700",
		"set-proc-title no", // The arguments show which folder is whose.
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

// quote writes a path as Redis's configuration wants it.
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
