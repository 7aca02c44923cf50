// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs the control plane of a Kubernetes cluster: three etcd servers, two API servers behind a balancer, and the controller
// manager, each a process that a test can kill. StartNode adds a node that runs pods.
package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
)

const (
	members    = 3 // etcd servers
	apiServers = 2
	startLimit = 2 * time.Minute // of a server, on a machine that compiles beside it
)

// A Cluster is a control plane. Its servers are restarted under their former addresses.
type Cluster struct {
	Etcd      [members]*Server
	APIServer [apiServers]*Server
	Manager   *Server // kube-controller-manager

	Config     *rest.Config // of an administrator, through the balancer
	Kubeconfig string       // the path of the same as a file

	dir, program string
	token        string // of the administrator
	authority    []byte // PEM
}

// A Server is one of the processes.
type Server struct {
	*process.Process

	address string
	config  process.Config
	grounds context.Context // ends with the test
}

// Start starts it, again after Kill.
func (s *Server) Start() error {
	p, err := process.Start(s.grounds, s.config)
	if err == nil {
		s.Process = p
	}
	return err
}

// runs reports whether it was started and not killed.
func (s *Server) runs() bool {
	if s.Process == nil {
		return false
	}
	select {
	case <-s.Exited():
		return false
	default:
		return true
	}
}

// Start starts a control plane for a test, and stops it at its end. BOWLINE_KUBERNETES chooses its version: "-1.34", or by default that
// of this repository.
func Start(t testing.TB) *Cluster {
	t.Helper()
	program := "kubernetes" + os.Getenv("BOWLINE_KUBERNETES")
	root, err := testkit.Make(program)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{dir: t.TempDir(), program: filepath.Join(root, "bin", program), token: secret()}
	if err := c.prepare(t); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.all() {
		if err := os.MkdirAll(s.config.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { c.stop(t) })
	if err := c.Restore(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Restore starts the servers that do not run.
func (c *Cluster) Restore() error {
	for _, servers := range [][]*Server{c.Etcd[:], c.APIServer[:], {c.Manager}} { // each needs those before it
		var all errgroup.Group
		for _, s := range servers {
			if !s.runs() {
				all.Go(s.Start)
			}
		}
		if err := all.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) all() []*Server {
	return append(append(c.Etcd[:len(c.Etcd):len(c.Etcd)], c.APIServer[:]...), c.Manager)
}

// stop kills the servers, whose folders are deleted next.
func (c *Cluster) stop(t testing.TB) {
	for _, s := range c.all() {
		if s.Process == nil {
			continue
		}
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	}
}

// prepare writes the files of the servers and describes their processes.
func (c *Cluster) prepare(t testing.TB) error {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP(serviceAddress)}, []string{"localhost"})
	if err != nil {
		return err
	}
	accounts, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	c.authority = certificate
	for name, content := range map[string][]byte{
		"tls.crt":     certificate,
		"tls.key":     key,
		"account.key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(accounts)}),
		"tokens.csv":  []byte(c.token + ",admin,admin,system:masters\n"),
		"audit.yaml":  []byte(auditPolicy),
	} {
		if err := os.WriteFile(c.file(name), content, 0o600); err != nil {
			return err
		}
	}
	clients := c.describeEtcd(t)
	var backends []string
	for i := range c.APIServer {
		c.APIServer[i] = c.describeAPIServer(t, i, clients)
		backends = append(backends, c.APIServer[i].address)
	}
	front, err := balance(t.Context(), "127.0.0.1:0", backends...)
	if err != nil {
		return err
	}
	c.Config = &rest.Config{
		Host: "https://" + front, BearerToken: c.token, TLSClientConfig: rest.TLSClientConfig{CAData: c.authority}, QPS: -1,
		WarningHandlerWithContext: rest.NoWarnings{},
	}
	c.Kubeconfig = c.file("admin.kubeconfig")
	if err := c.WriteKubeconfig(c.Kubeconfig, c.token); err != nil {
		return err
	}
	c.Manager = c.describe(t, "kube-controller-manager", "", c.ready(c.Config.Host), "--kubeconfig="+c.Kubeconfig, "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+c.file("account.key"), "--root-ca-file="+c.file("tls.crt"))
	return nil
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

func secret() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// describe describes the process of a server whose folder is named after it.
func (c *Cluster) describe(t testing.TB, server, number string, ready func(context.Context) error, args ...string) *Server {
	return &Server{grounds: t.Context(), config: process.Config{
		Args: append([]string{c.program, server}, args...), Dir: c.file(server + number), Check: ready, Limit: startLimit,
		Failed: func(err error) { t.Errorf("%s%s: %v", server, number, err) },
	}}
}

// describeEtcd describes the servers of etcd, and returns the addresses for clients.
func (c *Cluster) describeEtcd(t testing.TB) (clients string) {
	var urls, peers, initial []string
	for i := range c.Etcd {
		urls, peers = append(urls, "http://"+testkit.FreeAddress(t)), append(peers, "http://"+testkit.FreeAddress(t))
		initial = append(initial, fmt.Sprintf("e%d=%s", i, peers[i]))
	}
	for i := range c.Etcd {
		// It answers once a quorum runs: the members are started together.
		ready := func(ctx context.Context) error { return Get(ctx, urls[i]+"/version") }
		c.Etcd[i] = c.describe(t, "etcd", fmt.Sprint(i), ready, fmt.Sprintf("--name=e%d", i), "--data-dir="+c.file(fmt.Sprintf("etcd%d/data", i)),
			"--listen-client-urls="+urls[i], "--advertise-client-urls="+urls[i], "--listen-peer-urls="+peers[i],
			"--initial-advertise-peer-urls="+peers[i], "--initial-cluster="+strings.Join(initial, ","), "--unsafe-no-fsync",
			"--log-level=warn")
	}
	return strings.Join(urls, ",")
}

func (c *Cluster) describeAPIServer(t testing.TB, number int, etcd string) *Server {
	address := testkit.FreeAddress(t)
	host, port, _ := strings.Cut(address, ":")
	s := c.describe(t, "kube-apiserver", fmt.Sprint(number), c.ready("https://"+address), "--etcd-servers="+etcd,
		"--bind-address="+host, "--secure-port="+port, "--tls-cert-file="+c.file("tls.crt"), "--tls-private-key-file="+c.file("tls.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.file("account.key"),
		"--service-account-signing-key-file="+c.file("account.key"), "--service-cluster-ip-range="+serviceNetwork,
		"--token-auth-file="+c.file("tokens.csv"), "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
		"--advertise-address=127.0.0.1", // unused, but without it the server looks for a route to other machines
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file="+c.file("audit.yaml"), "--audit-log-path="+c.auditLog(number))
	s.address = address
	return s
}

// ready asks an API server whether it is.
func (c *Cluster) ready(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		transport, err := rest.TransportFor(&rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{CAData: c.authority}})
		if err != nil {
			return err
		}
		return get(ctx, &http.Client{Transport: transport}, url+"/readyz", c.token)
	}
}

// Get returns nil if a server answers a request with success.
func Get(ctx context.Context, url string) error { return get(ctx, http.DefaultClient, url, "") }

func get(ctx context.Context, client *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return nil
}

// WriteKubeconfig writes a kubeconfig with a token.
func (c *Cluster) WriteKubeconfig(file, token string) error {
	const name = "test"
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: c.Config.Host, CertificateAuthorityData: c.authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}, file)
}
