// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const (
	serverProgram = "redis-server"
	oldestMajor   = 7       // the first version that does not let clients change the server's folders or modules at run time
	controlUser   = "cloud" // the user of this package
	socketName    = "control.sock"
)

// DefaultSearchPath returns the folders of PATH, then those of packages.
func DefaultSearchPath() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), "/usr/local/bin", "/usr/bin")
}

func software(searchPath []string) host.Software {
	return host.Software{
		SearchPath: searchPath, Oldest: oldestMajor,
		// For example "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0".
		Version: regexp.MustCompile(`Redis server v=([0-9]+\.[0-9]+)\.`),
		Locate: func(folder string) (string, error) {
			path := filepath.Join(folder, serverProgram) // Links are kept: Debian's program depends on its name.
			_, err := os.Stat(path)
			return path, err
		},
	}
}

// choose returns the program of the version, or else the first one: later versions can read the data of earlier ones.
func choose(installed []host.Program, version string) (host.Program, error) {
	for _, p := range installed {
		if p.Version == version {
			return p, nil
		}
	}
	if len(installed) == 0 {
		return host.Program{}, host.NotInstalled(fmt.Sprintf("Redis %d or later", oldestMajor), "redis-server")
	}
	return installed[0], nil
}

// driver runs the Redis server of one instance.
type driver struct{ service.Site[Spec] }

// Find returns the server that an earlier cloud started.
func (d *driver) Find(ctx context.Context, r record) (*host.Server, error) {
	c, err := dial(ctx, d.Data(), controlUser, r.Spec.Secret)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, host.ErrEnded
	}
	if err != nil {
		return nil, err
	}
	defer c.close()
	status, err := c.status()
	if err != nil {
		return nil, err
	}
	p, err := host.Open(status.pid)
	if err != nil {
		return nil, err
	}
	if _, err := c.do("PING"); err != nil && !isRefusal(err) { // It has ended, and its pid may have been reused.
		p.Close()
		return nil, host.ErrEnded
	}
	return d.Adopt(p, nil), nil
}

// Fits is always true: all settings can be changed while the server runs.
func (d *driver) Fits(*host.Server, record) bool { return true }

// Prepare creates the data if there never was any.
func (d *driver) Prepare(_ context.Context, r record, installed []host.Program) (func(port int) (*host.Server, error), error) {
	exists, err := d.findData(r)
	if err != nil {
		return nil, fmt.Errorf("checking data folder: %w", err)
	}
	program, err := choose(installed, r.Version)
	if err == nil && !exists {
		err = d.CreateData(d.fill)
	}
	return func(port int) (*host.Server, error) { return d.start(program, port, r) }, err
}

// findData treats an empty folder as no data if the server neither was ONLINE nor was ever started.
func (d *driver) findData(r record) (bool, error) {
	if r.Status == sdk.StatusCreating || r.Version == "" { // a server that is ONLINE shows its version
		if unused, err := d.IsUnused(); unused || err != nil {
			return false, err
		}
	}
	return d.FindData(r.Port != 0) // a port is chosen after the data was created
}

// fill creates an empty append-only file, so that data without one has lost it. It follows no link out of the data.
func (d *driver) fill(data string) error {
	root, err := os.OpenRoot(data)
	if err != nil {
		return err
	}
	defer root.Close() // only a folder
	if err = root.MkdirAll(appendFolder, 0o700); err == nil && os.Geteuid() == 0 {
		err = root.Lchown(appendFolder, d.Owner.UID, d.Owner.GID)
	}
	if err == nil {
		err = host.WriteIn(data, filepath.Join(appendFolder, appendFirst), "")
	}
	if err == nil {
		err = host.WriteIn(data, appendIndex, "file "+appendFirst+" seq 1 type i\n")
	}
	return err
}

func (d *driver) start(with host.Program, port int, r record) (*host.Server, error) {
	config, err := d.WriteConfig("redis.conf", configuration(d.Data(), port, r))
	if err != nil {
		return nil, fmt.Errorf("writing configuration: %w", err)
	}
	cmd := exec.Command(with.Path, config)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"} // That of this process may contain secrets.
	return d.Start(cmd)
}

// AwaitReady waits for the server.
func (d *driver) AwaitReady(ctx context.Context, s *host.Server, r record) error {
	return s.AwaitReady(ctx, func(ctx context.Context) error {
		c, err := dial(ctx, d.Data(), controlUser, r.Spec.Secret)
		if isRefusal(err) { // for example for lack of free connections: Settle has the cause
			return nil
		}
		if err != nil {
			return err
		}
		defer c.close()
		status, err := c.status()
		switch answer, refused := errors.AsType[*replyError](err); {
		case refused && answer.code == "BUSY":
			return &host.Fault{Passes: true, Cause: fmt.Sprintf("the server answers BUSY to all clients because of an endless script or "+
				"function: end it with SCRIPT KILL or FUNCTION KILL, or if both are refused, kill -9 process %d: it is started again with its data, "+
				"without the writes of up to the last second", s.Pid())}
		case refused:
			return nil
		case err == nil && (status.loading || status.pid != s.Pid()):
			return errors.New("the server is starting")
		case err == nil && status.readOnly:
			return &host.Fault{Cause: "the server cannot write its data to disk and refuses all writes: see its log, and whether the disk is full"}
		}
		return err
	})
}

// Opens reports whether the running server accepts a password of the clients' user.
func (d *driver) Opens(ctx context.Context, _ record, password string) (bool, error) {
	c, err := dial(ctx, d.Data(), username, password)
	if answer, answered := errors.AsType[*replyError](err); answered && answer.code == "WRONGPASS" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.close()
	return true, nil
}

// Settle applies the settings. Connections stay open, also those that were opened with another password. Errors contain no password.
func (d *driver) Settle(ctx context.Context, _ *host.Server, r record) (service.Seen, error) {
	c, err := dial(ctx, d.Data(), controlUser, r.Spec.Secret)
	if err != nil {
		return service.Seen{}, err
	}
	defer c.close()
	for _, command := range [][]string{
		{"CONFIG", "SET", "maxmemory", memory(r), "maxmemory-policy", r.Spec.EvictionPolicy},
		append([]string{"ACL", "SETUSER", username}, clientRules(r)...),
	} {
		if _, err := c.do(command...); err != nil {
			return service.Seen{}, fmt.Errorf("changing settings: %w", err)
		}
	}
	status, err := c.status()
	return service.Seen{Version: status.version, Port: status.port}, err
}

func memory(r record) string { return strconv.Itoa(r.Spec.MemoryMegabytes << 20) }

// clientRules are the permissions of clients, as ACL rules.
func clientRules(r record) []string {
	rules := []string{"reset", "on", passwordRule(r.Password), "~*", "&*", "+@all", "-@admin"}
	if r.PreviousPassword != "" {
		rules = append(rules, passwordRule(r.PreviousPassword))
	}
	return rules
}

// passwordRule is the ACL rule that adds a password by its hash.
func passwordRule(password string) string {
	hash := sha256.Sum256([]byte(password))
	return "#" + hex.EncodeToString(hash[:])
}

// configuration returns the configuration file. Writes survive a kill of the server at once, and are on disk within a second.
func configuration(data string, port int, r record) string {
	lines := []string{
		"bind " + host.Loopback,
		"port " + strconv.Itoa(port),
		"dir " + quote(data),
		"unixsocket " + socketName, // Relative to dir, since Linux limits the length of the path.
		"unixsocketperm 700",
		"set-proc-title no", // The arguments show which server has which folder.
		"appendonly yes",
		"appendfsync everysec",
		`save ""`,
		"maxmemory " + memory(r),
		"maxmemory-policy " + r.Spec.EvictionPolicy,
		"user " + username + " " + strings.Join(clientRules(r), " "),
		"user " + controlUser + " reset on " + passwordRule(r.Spec.Secret) + " ~* &* +@all",
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
