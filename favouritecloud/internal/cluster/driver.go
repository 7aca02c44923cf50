// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
)

const (
	serverProgram  = "bowline"
	proof          = "favouritecloud-cluster" // an empty file in the data
	authorityFile  = "pki/ca.crt"             // in the data, as is the file with the process that has the data
	lockFile       = "lock"
	tokensFile     = "tokens.conf"
	requestTimeout = 5 * time.Second
	maxAnswerBytes = 1 << 20
)

// DefaultSearchPath returns the folder of this program, then those of PATH.
func DefaultSearchPath() []string {
	folders := filepath.SplitList(os.Getenv("PATH"))
	if self, err := os.Executable(); err == nil {
		folders = append([]string{filepath.Dir(self)}, folders...)
	}
	return folders
}

func software(searchPath []string) host.Software {
	return host.Software{
		SearchPath: searchPath, Oldest: 1,
		Version: regexp.MustCompile(`\(Kubernetes v([0-9]+\.[0-9]+)\.`), // For example "bowline 1.2 (Kubernetes v1.36.3, go1.26.8, linux/amd64)".
		Locate: func(folder string) (string, error) {
			path := filepath.Join(folder, serverProgram)
			_, err := os.Stat(path)
			return path, err
		},
	}
}

func choose(installed []host.Program, version string) (host.Program, error) {
	for _, p := range installed {
		if p.Version == version {
			return p, nil
		}
	}
	if len(installed) == 0 {
		return host.Program{}, errors.New("the program bowline is not in the search path of the cloud")
	}
	return installed[0], nil // later versions can read the data of earlier ones
}

// driver runs the API server of one cluster.
type driver struct{ service.Site[Spec] }

// Find returns the server that an earlier cloud started, and lets it continue if that cloud was killed while it had stopped it for a copy.
func (d *driver) Find(context.Context, record) (*host.Server, error) {
	text, err := host.ReadIn(d.Data(), lockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, host.ErrEnded
	}
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || pid <= 0 {
		return nil, host.ErrEnded // it was killed while it started
	}
	p, err := host.Open(pid)
	if err != nil {
		return nil, err
	}
	info, err := p.Inspect()
	if err == nil && info.Command == serverProgram && slices.Contains(info.Args, d.Data()) {
		if err = p.Signal(unix.SIGCONT); err == nil {
			return d.Adopt(p, info.Args), nil
		}
	}
	p.Close()
	if err == nil { // after a crash of the machine, the pid may belong to any process
		err = host.ErrEnded
	}
	return nil, err
}

// Fits is always true: all settings can be changed while the server runs.
func (*driver) Fits(*host.Server, record) bool { return true }

// Prepare creates the folder of the data if there never was any. The server fills it.
func (d *driver) Prepare(_ context.Context, r record, installed []host.Program) (func(port int) (*host.Server, error), error) {
	exists, err := d.FindData(r.Port != 0) // a port is chosen after the data was created
	if err != nil {
		return nil, fmt.Errorf("checking data folder: %w", err)
	}
	program, err := choose(installed, r.Version)
	if err == nil && !exists {
		err = d.CreateData(func(data string) error { return host.WriteIn(data, proof, "") })
	}
	return func(port int) (*host.Server, error) { return d.start(program, port, r) }, err
}

func (d *driver) start(with host.Program, port int, r record) (*host.Server, error) {
	tokens, err := d.writeTokens(r)
	if err != nil {
		return nil, err
	}
	program, err := d.reachable(with.Path)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "apiserver", "--data-dir", d.Data(), "--listen", host.Address(port), "--admin-tokens", tokens)
	// That of this process may contain secrets. The program tells other commands of its user about its servers, by files in its home.
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + d.Data()}
	return d.Start(cmd)
}

// reachable returns a program that the account of the server can run: the given one, or a copy beside the data where the account cannot
// enter the folders of that, as below /root.
func (d *driver) reachable(program string) (string, error) {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", err
	}
	owner, err := d.DataOwner()
	if err != nil {
		return "", err
	}
	if can, err := owner.CanReach(filepath.Dir(program)); can || err != nil {
		return program, err
	}
	target := filepath.Join(d.Path, serverProgram)
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier start, maybe another version
		return "", err
	}
	if os.Link(program, target) == nil {
		return target, nil
	}
	if err := copyProgram(program, target); err != nil {
		return "", fmt.Errorf("copying %s: %w", program, err)
	}
	return target, nil
}

func copyProgram(program, target string) error {
	from, err := os.Open(program)
	if err != nil {
		return err
	}
	defer from.Close() // only read
	to, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// writeTokens writes the hashes of the tokens that the record permits.
func (d *driver) writeTokens(r record) (path string, err error) {
	var lines strings.Builder
	for _, token := range []string{r.Password, r.PreviousPassword} {
		if token != "" {
			hash := sha256.Sum256([]byte(token))
			lines.WriteString(hex.EncodeToString(hash[:]) + "\n")
		}
	}
	if path, err = d.WriteConfig(tokensFile, lines.String()); err != nil {
		return "", fmt.Errorf("writing tokens: %w", err)
	}
	return path, nil
}

// AwaitReady waits for the server, which tells everybody whether it is ready.
func (d *driver) AwaitReady(ctx context.Context, s *host.Server, _ record) error {
	return s.AwaitReady(ctx, func(ctx context.Context) error {
		status, body, err := d.get(ctx, s, "/readyz", "")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("the server is not ready: %s", body)
		}
		return err
	})
}

// Settle writes the tokens and records the server's authority.
func (d *driver) Settle(ctx context.Context, s *host.Server, r record) (service.Seen, error) {
	if _, err := d.writeTokens(r); err != nil {
		return service.Seen{}, err
	}
	authority, err := host.ReadIn(d.Data(), authorityFile)
	if err != nil {
		return service.Seen{}, fmt.Errorf("reading certificate authority: %w", err)
	}
	if authority != r.Spec.Authority {
		if _, err := d.Update(func(r *record) { r.Spec.Authority = authority }); err != nil {
			return service.Seen{}, err
		}
	}
	var version struct{ Major, Minor string }
	status, body, err := d.get(ctx, s, "/version", r.Password)
	if err == nil && status == http.StatusOK {
		err = json.Unmarshal([]byte(body), &version)
	}
	if err != nil || status != http.StatusOK {
		return service.Seen{}, fmt.Errorf("reading version of server: status %d: %w", status, err)
	}
	return service.Seen{Version: version.Major + "." + version.Minor, Port: portOf(s)}, nil
}

// Opens reports whether the running server accepts a token.
func (d *driver) Opens(ctx context.Context, r record, token string) (bool, error) {
	s, err := d.Find(ctx, r)
	if err != nil {
		return false, err
	}
	defer s.Close()
	status, _, err := d.get(ctx, s, "/version", token)
	return status == http.StatusOK, err
}

// get sends a request to the server, which proves itself by a certificate of the authority in its data.
func (d *driver) get(ctx context.Context, s *host.Server, path, token string) (status int, body string, err error) {
	authority, err := host.ReadIn(d.Data(), authorityFile)
	if err != nil {
		return 0, "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(authority))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint(portOf(s))+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := (&http.Client{Transport: transport, Timeout: requestTimeout}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close() // The body has been read.
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return answer.StatusCode, string(content), err
}

// portOf returns the port of a server from its arguments; 0 if it has none.
func portOf(s *host.Server) int {
	i := slices.Index(s.Args, "--listen") + 1
	if i == 0 || i == len(s.Args) {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimPrefix(s.Args[i], host.Loopback+":"))
	if err != nil {
		return 0
	}
	return port
}
