// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datadir finds the folder in which a server keeps all its state, and names the files in it.
//
// A command that runs a server uses the flag, the environment or the default of this user. A command that is a client also
// finds the only server of this user that runs, by a registry of servers. Whether a server runs is decided by
// the lock of its data folder and by nothing else.
package datadir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
)

// Variable is the environment variable that names the data folder where the flag does not.
const Variable = "BOWLINE_DATA_DIR"

// Flag is --data-dir, which every command that uses one server understands.
type Flag struct{ Value string }

// AddFlags registers the flag.
func (f *Flag) AddFlags(flags *pflag.FlagSet) {
	shown := cmp.Or(defaultDir(), "none")
	flags.StringVar(&f.Value, "data-dir", "", fmt.Sprintf("folder that holds all state (default $%s, else %s)", Variable, shown))
}

// Server returns the folder for a server to use: the flag, else the environment, else the default of this user.
func (f *Flag) Server() (string, error) {
	if dir := cmp.Or(f.Value, os.Getenv(Variable), defaultDir()); dir != "" {
		return filepath.Abs(dir)
	}
	return "", errors.New("this user has no home folder; choose a folder for the state with --data-dir")
}

// Client returns the folder of the server that a client means: the flag, else the environment, else that of the only running
// server of this user, else the default.
func (f *Flag) Client() (string, error) {
	if dir := cmp.Or(f.Value, os.Getenv(Variable)); dir != "" {
		return filepath.Abs(dir)
	}
	switch running := runningServers(); len(running) {
	case 0:
		return f.Server()
	case 1:
		return running[0], nil
	default:
		return "", fmt.Errorf("several servers run; choose one:\n  --data-dir %s", strings.Join(running, "\n  --data-dir "))
	}
}

// Running is Client for commands that need a server: if none runs, the error contains the command that starts one.
func (f *Flag) Running() (string, error) {
	dir, err := f.Client()
	if err != nil {
		return "", err
	}
	if _, ok := controlplane.Holder(dir); ok {
		return dir, nil
	}
	text := fmt.Sprintf("no server runs on %s; start one with: bowline up --detach%s", dir, Argument(dir))
	if others := runningServers(); len(others) > 0 {
		text += fmt.Sprintf("\nor choose a running one:\n  --data-dir %s", strings.Join(others, "\n  --data-dir "))
	}
	return "", &notRunningError{text}
}

// A notRunningError says that no server runs on a folder, and which command starts one.
type notRunningError struct{ text string }

func (e *notRunningError) Error() string { return e.text }

// defaultDir is empty for a user without a home folder.
func defaultDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/bowline"
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".bowline")
}

// Argument returns the end of a command line that chooses this folder; empty for the default, unless $KUBECONFIG names another server.
func Argument(dir string) string {
	if dir == defaultDir() && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return ""
	}
	return " --data-dir " + ShellQuote(dir)
}

// ShellQuote quotes a word so that a shell passes it on unchanged.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/._-+:@%,=", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// The registry is a folder of this user with one file for each started server, which holds the path of its data folder. It is
// only a hint for clients without --data-dir.

// Register adds a data folder to the registry, and removes those on which no server runs any more.
func Register(dataDir string) error {
	registry, err := registryDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(registry, 0o700); err != nil {
		return fmt.Errorf("creating registry of servers: %w", err)
	}
	for file, dir := range registered(registry) {
		if _, ok := controlplane.Holder(dir); !ok {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cleaning registry of servers: %w", err)
			}
		}
	}
	sum := sha256.Sum256([]byte(dataDir))
	if err := controlplane.WriteFile(filepath.Join(registry, hex.EncodeToString(sum[:8])), []byte(dataDir+"\n")); err != nil {
		return fmt.Errorf("adding server to registry: %w", err)
	}
	return nil
}

func runningServers() []string {
	registry, err := registryDir()
	if err != nil {
		return nil // without a cache folder no server can be registered
	}
	var running []string
	for _, dir := range registered(registry) {
		if _, ok := controlplane.Holder(dir); ok {
			running = append(running, dir)
		}
	}
	slices.Sort(running)
	return running
}

// registered maps the registry's files to the data folders they name. Unreadable files are left out.
func registered(registry string) map[string]string {
	dirs := map[string]string{}
	entries, err := os.ReadDir(registry)
	if err != nil {
		return dirs
	}
	for _, entry := range entries {
		file := filepath.Join(registry, entry.Name())
		content, err := os.ReadFile(file)
		dir := strings.TrimSuffix(string(content), "\n")
		if err == nil && filepath.IsAbs(dir) {
			dirs[file] = dir
		}
	}
	return dirs
}

func registryDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding registry of servers: %w", err)
	}
	return filepath.Join(cache, "bowline", "servers"), nil
}

// LogPath is the log of a server that runs in the background.
func LogPath(dataDir string) string { return filepath.Join(dataDir, "bowline.log") }

// Containing returns the data folder, without symbolic links, that a folder is or is in; empty for none. The folder need not exist.
func Containing(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(folder)
	for ; errors.Is(err, fs.ErrNotExist); resolved, err = filepath.EvalSymlinks(folder) {
		folder = filepath.Dir(folder)
	}
	if err != nil {
		return "", err
	}
	for dir := resolved; ; dir = filepath.Dir(dir) {
		if _, err := favouritecloud.ReadAdminToken(CloudDir(dir)); err == nil || controlplane.IsDataFolder(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
	}
}

// MetricsPortPath is the file with the port that served metrics last.
func MetricsPortPath(dataDir string) string { return filepath.Join(dataDir, "metrics-port") }

// CloudDir is the folder of the local cloud within a data folder.
func CloudDir(dataDir string) string { return filepath.Join(dataDir, "cloud") }

func runFilePath(dataDir string) string { return filepath.Join(dataDir, "run.json") }

// RunFile describes a running server to clients. It lies in the data folder while the server runs. A file left behind by a
// killed server is recognized by its PID, which does not hold the lock.
type RunFile struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`   // when it became ready
	Address string    `json:"address"` // host:port of the API server
	Version string    `json:"version"`
	Cloud   string    `json:"cloud,omitempty"`   // URL of the local cloud, if it runs
	Metrics string    `json:"metrics,omitempty"` // URL of the metrics, if they are served
}

// NewRunFile describes this process.
func NewRunFile(address, version string) RunFile {
	return RunFile{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second), Address: address, Version: version}
}

// Write writes the run file.
func (r RunFile) Write(dataDir string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding run file: %w", err)
	}
	return controlplane.WriteFile(runFilePath(dataDir), append(content, '\n'))
}

// RemoveRunFile removes the run file, if there is one.
func RemoveRunFile(dataDir string) error {
	if err := os.Remove(runFilePath(dataDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing run file: %w", err)
	}
	return nil
}

// ReadRunFile returns false if there is none of the given process.
func ReadRunFile(dataDir string, pid int) (RunFile, bool) {
	var r RunFile
	content, err := os.ReadFile(runFilePath(dataDir))
	if err != nil || json.Unmarshal(content, &r) != nil || r.PID != pid {
		return RunFile{}, false
	}
	return r, true
}

func restoredPath(dataDir string) string { return filepath.Join(dataDir, "restored.json") }

// Restored describes what a restored data folder has at other addresses than the original. The first start uses and removes it.
type Restored struct {
	Cloud string      `json:"cloud,omitempty"` // URL of the original's local cloud, if there was one
	Hosts []string    `json:"hosts,omitempty"` // names and addresses of the original's machine
	Ports map[int]int `json:"ports,omitempty"` // new ports of the cloud's servers, by the former ones
}

// HostNames returns the name and the addresses of this machine.
func HostNames() (names []string) {
	if own, err := os.Hostname(); err == nil {
		names = append(names, own)
	}
	addresses, _ := net.InterfaceAddrs() // without them, the name remains
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok {
			names = append(names, network.IP.String())
		}
	}
	return names
}

// Write writes the description.
func (r Restored) Write(dataDir string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding description of restore: %w", err)
	}
	return controlplane.WriteFile(restoredPath(dataDir), content)
}

// ReadRestored returns false if the folder was not restored, or has been started since.
func ReadRestored(dataDir string) (r Restored, ok bool, err error) {
	content, err := os.ReadFile(restoredPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		return r, false, fmt.Errorf("reading description of restore: %w", err)
	}
	return r, true, nil
}

// RemoveRestored removes the description.
func RemoveRestored(dataDir string) error { return os.Remove(restoredPath(dataDir)) }
