// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes control plane inside one process: etcd, the generic API server (custom
// resources, RBAC, admission, secrets, events, leases; no pods, no nodes) and the few controllers without which its
// objects would not behave (garbage collection, namespaces, quotas, role aggregation, the root certificate).
//
// A Server has one lifetime. New has no side effects, Run does everything and leaves nothing behind but the data folder:
//
//	s, err := controlplane.New(controlplane.Config{DataDir: dir})
//	go func() { done <- s.Run(ctx) }()
//	<-s.Ready() // or done, if it did not start
//	c, err := client.New(s.RESTConfig(), client.Options{})
//
// Every Kubernetes client works against it unchanged. Kubernetes keeps some state per process (feature gates, metrics,
// its logger), so a process runs its servers one after another rather than side by side.
//
// Tests do not import this package, which would link an API server into every test binary: package
// controlplane/controlplanetest gives them a server of its own process.
package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/bowline-dev/bowline/controlplane/internal/apiserver"
	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
	"github.com/bowline-dev/bowline/controlplane/internal/etcd/clientlog"
	"github.com/bowline-dev/bowline/controlplane/internal/files"
	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// renewalCheck is the interval of checking the certificates, which live for months.
const renewalCheck = time.Hour

// Server is a control plane with one lifetime: New, Run once, done.
type Server struct {
	cfg   Config
	clock clock.WithTicker
	free  func(dataDir string) (uint64, error)
	ready chan struct{}
	ran   atomic.Bool

	anyPort bool // none was chosen

	// Set by the parts in their order, for the later ones.
	keys     *pki.PKI
	listener *apiserver.Listener
	store    *etcd.Store
	api      *apiserver.Server

	admin atomic.Pointer[rest.Config]
}

// New returns a server that Run starts. It has no side effects; its error names every problem of the configuration.
func New(cfg Config) (*Server, error) {
	anyPort := cfg.Listen == ""
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("validating configuration: %w", err)
	}
	return &Server{cfg: cfg, anyPort: anyPort, clock: clock.RealClock{}, free: freeSpace, ready: make(chan struct{})}, nil
}

// Run starts every part, blocks until ctx ends or a part fails, and leaves no goroutine, port or lock behind. It returns
// nil when ctx ended, and may be called once. A LockedError reports that another server uses the data folder.
func (s *Server) Run(ctx context.Context) (err error) {
	if s.ran.Swap(true) {
		return errors.New("server has run already")
	}
	logKubernetes(ctx, s.cfg.Log)
	clientlog.SendTo(s.cfg.Log)
	// The parts stop in reverse: the store outlives its users, and the lock is released last.
	for _, part := range []struct {
		name  string
		start func(context.Context) (stop func() error, err error) // returns when the part is ready
	}{
		{"data folder", s.startFolder},
		{"keys", s.startKeys},
		{"listener", s.startListener},
		{"store", s.startStore},
		{"API server", s.startAPI},
	} {
		stop, startErr := part.start(ctx)
		if startErr != nil && ctx.Err() != nil {
			return nil
		}
		if startErr != nil {
			return fmt.Errorf("starting %s: %w", part.name, startErr)
		}
		defer func() {
			if stopErr := stop(); stopErr != nil {
				err = errors.Join(err, fmt.Errorf("stopping %s: %w", part.name, stopErr))
			}
		}()
	}
	return s.wait(ctx)
}

func (s *Server) wait(ctx context.Context) error {
	renewal := s.clock.NewTicker(renewalCheck)
	defer renewal.Stop()
	close(s.ready)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-s.store.Failed():
			return fmt.Errorf("running store: %w", err)
		case err := <-s.api.Failed():
			return fmt.Errorf("running API server: %w", err)
		case <-renewal.C():
			// The API server reloads its own certificate. A failure, such as a full disk, is months before the expiry.
			err := s.keys.Ensure()
			if err == nil {
				err = s.publishAdmin()
			}
			if err != nil {
				s.cfg.Log.Error(err, "Renewing certificates")
			}
		}
	}
}

// Ready is closed when the server serves requests and its built-in objects exist. It stays open if Run fails before.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// RESTConfig returns a copy of the administrator's client configuration. It is valid once Ready is closed, and may be nil before.
func (s *Server) RESTConfig() *rest.Config {
	admin := s.admin.Load()
	if admin == nil {
		return nil
	}
	return rest.CopyConfig(admin)
}

// Used returns a channel that is closed once a custom kind has objects, before the first one is stored. It needs a server that is ready.
func (s *Server) Used(ctx context.Context, kind schema.GroupResource) <-chan struct{} {
	return s.api.Used().Begins(ctx, kind)
}

// Address returns the host:port the server really listens on; it is empty until Ready is closed.
func (s *Server) Address() string {
	select {
	case <-s.ready:
		return s.listener.Addr().String()
	default:
		return ""
	}
}

// KubeconfigPath returns the administrator's kubeconfig in a data folder. The file has mode 0600; Run writes it before
// the server is ready, and again when the address or the certificate in it changes.
func KubeconfigPath(dataDir string) string { return filepath.Join(dataDir, "admin.kubeconfig") }

func encryptionPath(dataDir string) string { return filepath.Join(dataDir, "encryption.yaml") }

// PrepareFolder creates a data folder, or makes an empty one private. Run does so itself; call it before you put files of your own into
// the folder. It refuses a folder that is open to others and holds other files, a copy of a data folder that still exists (CopyError),
// and one of an unfinished restore.
func PrepareFolder(dataDir string) error {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fmt.Errorf("creating data folder: %w", err)
	}
	if err := errors.Join(refuseUnfinished(dataDir), refuseCopy(dataDir)); err != nil {
		return err
	}
	info, err := os.Stat(dataDir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	entries, err := os.ReadDir(dataDir)
	if err != nil {
		return fmt.Errorf("checking data folder: %w", err)
	}
	if _, err := os.Stat(lockPath(dataDir)); err != nil && len(entries) > 0 { // such as /tmp, which must keep its mode
		return fmt.Errorf("data folder %s is open to other users and holds other files; choose an empty one, or close it (mode 0700)", dataDir)
	}
	return os.Chmod(dataDir, 0o700)
}

func refuseUnfinished(dataDir string) error {
	if IsUnfinished(dataDir) {
		return fmt.Errorf("data folder %s has an unfinished restore: repeat bowline restore FILE --data-dir %[1]s", dataDir)
	}
	return nil
}

// WriteFile replaces a file in one step, with mode 0600: a reader gets the old content or the new, also after a crash.
func WriteFile(path string, content []byte) error { return files.Write(path, content, 0o600) }

func (s *Server) startFolder(context.Context) (func() error, error) {
	err := PrepareFolder(s.cfg.DataDir)
	if err == nil {
		err = checkSpace(s.cfg.DataDir, s.free)
	}
	if err != nil {
		return nil, err
	}
	lock, err := acquireLock(s.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	stop := func() error { return releaseLock(lock) }
	err = refuseUnfinished(s.cfg.DataDir) // of a restore that began after the check, and was killed
	if err == nil {
		err = recordIdentity(s.cfg.DataDir)
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (s *Server) startKeys(context.Context) (func() error, error) {
	names := s.cfg.Names
	host, _, _ := net.SplitHostPort(s.cfg.Listen) // Validate has checked it
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		names = append([]string{host}, names...)
	}
	s.keys = &pki.PKI{Dir: filepath.Join(s.cfg.DataDir, KeysFolder), Names: names, Now: s.clock.Now}
	if err := etcd.EnsureFolder(s.cfg.DataDir, s.keys.AuthorityKeyPath()); err != nil {
		return nil, err
	}
	return func() error { return nil }, s.keys.Ensure()
}

func (s *Server) startListener(ctx context.Context) (_ func() error, err error) {
	if s.listener, err = s.listen(ctx); err != nil {
		return nil, err
	}
	if err := s.publishAdmin(); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	return s.listener.Close, nil
}

// listen keeps the port of an earlier Run while it is free, unless another was chosen, so that kubeconfigs of users stay valid.
func (s *Server) listen(ctx context.Context) (*apiserver.Listener, error) {
	host, port, _ := net.SplitHostPort(s.cfg.Listen) // Validate has checked it
	if port == "0" || s.anyPort {
		if former, err := clientcmd.BuildConfigFromFlags("", KubeconfigPath(s.cfg.DataDir)); err == nil {
			_, port, _ = net.SplitHostPort(strings.TrimPrefix(former.Host, "https://")) // empty is 0
			if l, err := apiserver.Listen(ctx, net.JoinHostPort(host, port)); err == nil {
				return l, nil
			}
		}
	}
	return apiserver.Listen(ctx, s.cfg.Listen)
}

func (s *Server) startStore(ctx context.Context) (_ func() error, err error) {
	if s.store, err = etcd.Start(ctx, s.cfg.DataDir, s.cfg.NoSync, s.cfg.Log); err != nil {
		return nil, err
	}
	return s.store.Stop, nil
}

func (s *Server) startAPI(ctx context.Context) (_ func() error, err error) {
	cfg := apiserver.Config{
		Listener: s.listener, Store: s.store, Keys: s.keys, Encryption: s.cfg.EncryptionConfig, Log: s.cfg.Log,
		Rewriting: filepath.Join(s.cfg.DataDir, "secrets-rewriting"),
		Free:      func() (uint64, error) { return s.free(s.cfg.DataDir) }, Controllers: s.cfg.Controllers, Initial: s.cfg.Initial,
		AdminTokens: s.cfg.AdminTokens,
	}
	if cfg.Encryption == "" {
		cfg.Encryption = encryptionPath(s.cfg.DataDir)
		if err := apiserver.EnsureEncryption(cfg.Encryption); err != nil {
			return nil, fmt.Errorf("creating key for Secrets: %w", err)
		}
	}
	if s.api, err = apiserver.Start(ctx, cfg); err != nil {
		return nil, err
	}
	return s.api.Stop, nil
}

// publishAdmin writes the administrator's kubeconfig if it changed, and sets the result of RESTConfig.
func (s *Server) publishAdmin() error {
	ca, cert, key, err := s.keys.Admin()
	if err != nil {
		return err
	}
	admin := &rest.Config{
		Host:            "https://" + s.listener.Reachable(),
		TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: cert, KeyData: key},
		QPS:             -1, // the server limits what it takes
	}
	s.admin.Store(admin)
	const name = "bowline"
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: admin.Host, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{pki.AdminUser: {ClientCertificateData: cert, ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: pki.AdminUser}},
	})
	if err != nil {
		return fmt.Errorf("encoding kubeconfig: %w", err)
	}
	path := KubeconfigPath(s.cfg.DataDir)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return WriteFile(path, text)
}

// DefaultListen is the default address of a server.
const DefaultListen = "127.0.0.1:6443"

// Config configures a server.
type Config struct {
	// DataDir is the folder that holds all state: the database, keys and certificates, the lock, the administrator's
	// kubeconfig. Run creates it, with mode 0700, if it is missing. Required.
	DataDir string

	// Listen is the host:port to serve on; default DefaultListen, with the port of the last Run if there was one and it is free. Port 0
	// picks a free one at the first Run, see Server.Address; later ones use it again if they can.
	Listen string

	// Names are further DNS names and IP addresses of the serving certificate, beside localhost, 127.0.0.1, ::1 and the
	// host of Listen.
	Names []string

	// EncryptionConfig is the file of the keys that encrypt Secrets in the store, Kubernetes' EncryptionConfiguration. It may encrypt other
	// kinds of the core group, too, but no custom kinds, which a restore reads. Secrets that
	// another provider of the file can read are rewritten with the first one at the start. Default: a file in DataDir, which Run
	// creates with a new key.
	EncryptionConfig string

	// AdminTokens is a file of the SHA-256 hashes, in hexadecimal digits and one a line, of bearer tokens that are the administrator's. It is
	// read for each request with a token, so that a change is in force at once. Default: there are no such tokens.
	AdminTokens string

	// Controllers is the user name of the controllers, whose updates are permitted longer than those of others while the disk is
	// nearly full, so that deletions finish.
	Controllers string

	// Initial returns the custom resource definitions and admission policies that a new data folder has from its start, such as those of
	// crd.Prepared. The server does not check them, and calls it only if it has no definitions. Default: none.
	Initial func() ([]runtime.Object, error)

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
