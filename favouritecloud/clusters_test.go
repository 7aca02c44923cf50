// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
	"github.com/bowline-dev/bowline/internal/testkit"
)

// A cluster is a real API server, which survives what a database does.
func TestLifeOfACluster(t *testing.T) {
	t.Parallel()
	config := clusterConfig(t)
	c := startCloud(t, config)
	k := newCluster(t, c)
	k.write(t)
	server := k.server(t)
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.awaitKept(t)

	hour := 3600
	first := k.access
	k.rotate(t, &hour)
	for _, token := range []string{first.Token, k.access.Token} {
		k.expect(t, token, http.StatusOK)
	}
	second := k.access
	k.rotate(t, nil)
	k.expect(t, first.Token, http.StatusUnauthorized)
	k.expect(t, second.Token, http.StatusUnauthorized)
	k.expect(t, k.access.Token, http.StatusOK)

	server = k.server(t)
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.keep() // as a cloud that is killed while it copies the data
	c.stop()
	config.DataDir = c.dir
	k.at(t, startCloud(t, config))
	k.awaitKept(t)
	if now := k.server(t); now != server {
		t.Errorf("server %d was replaced by %d", server, now)
	}

	data, aside := filepath.Join(c.dir, "instances", fmt.Sprintf("cluster-%d", k.access.ID), "data"), filepath.Join(c.dir, "aside")
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data, aside); err != nil {
		t.Fatal(err)
	}
	k.await(t, sdk.StatusFailed, "the data is gone")
	if err := os.Rename(aside, data); err != nil {
		t.Fatal(err)
	}
	k.awaitKept(t)

	if err := k.clusters.Delete(t.Context(), "apps"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster is gone", func() string {
		left, err := filepath.Glob(filepath.Join(c.dir, "instances", "cluster-*"))
		if servers := serversIn(t, c.dir); err != nil || len(left)+len(servers) > 0 {
			return fmt.Sprint(left, servers, err)
		}
		return ""
	})
}

func TestBackupOfACluster(t *testing.T) {
	t.Parallel()
	config := clusterConfig(t)
	c := startCloud(t, config)
	k := newCluster(t, c)
	k.write(t)
	backup, err := sdk.StartBackup(t.Context(), c.url, c.adminToken(t))
	if err != nil {
		t.Fatal(err)
	}
	defer backup.Close()
	config.DataDir = newDataDir(t)
	if _, err := favouritecloud.Restore(config, backup, false); err != nil {
		t.Fatal(err)
	}
	restored := &hosted{}
	restored.at(t, startCloud(t, config))
	restored.awaitKept(t)
	if restored.access.Endpoint == k.access.Endpoint || restored.access.Token != k.access.Token {
		t.Errorf("the restored cluster is at %s, the original at %s", restored.access.Endpoint, k.access.Endpoint)
	}
	k.awaitKept(t)
}

// hosted is a cluster named apps.
type hosted struct {
	cloud    *cloud
	clusters *cluster.Client
	access   *cluster.Cluster // with the token
}

// clusterConfig finds the program in the checkout.
func clusterConfig(t *testing.T) favouritecloud.Config {
	t.Helper()
	root, err := testkit.Make("build")
	if err != nil {
		t.Fatal(err)
	}
	return favouritecloud.Config{DataDir: newDataDir(t), KubernetesSearchPath: []string{filepath.Join(root, "bin")}, RetryInterval: time.Second}
}

func newCluster(t *testing.T, c *cloud) *hosted {
	t.Helper()
	k := &hosted{}
	k.at(t, c)
	created, err := k.clusters.Create(t.Context(), cluster.CreateClusterInput{Name: "apps"})
	if err != nil || created.Token != "" {
		t.Fatalf("%v, %+v", err, created)
	}
	k.await(t, sdk.StatusOnline, "")
	return k
}

func (k *hosted) at(t *testing.T, c *cloud) {
	t.Helper()
	k.cloud, k.clusters = c, cluster.NewClient(c.client)
}

// await waits for a status, whose message contains a text, and reads the credentials.
func (k *hosted) await(t *testing.T, status, text string) {
	t.Helper()
	eventually(t, "the cluster is "+status, func() string {
		have, err := k.clusters.Get(t.Context(), "apps")
		if err != nil || have.Status != status || !strings.Contains(have.Message, text) || have.Token != "" {
			return fmt.Sprintf("%+v %v", have, err)
		}
		k.access, err = k.clusters.View(t.Context(), "apps", cluster.ViewCredentials)
		if err != nil || k.access.Token == "" {
			return fmt.Sprintf("%+v %v", k.access, err)
		}
		return ""
	})
}

func (k *hosted) rotate(t *testing.T, keep *int) {
	t.Helper()
	if _, err := k.clusters.Update(t.Context(), "apps", cluster.UpdateClusterInput{RotateToken: true, PreviousTokenSeconds: keep}); err != nil {
		t.Fatal(err)
	}
	k.await(t, sdk.StatusOnline, "")
}

// server is the process of the cluster.
func (k *hosted) server(t *testing.T) int {
	t.Helper()
	servers := serversIn(t, k.cloud.dir)
	if len(servers) != 1 {
		t.Fatalf("servers %v", servers)
	}
	return servers[0]
}

const (
	namespaces = "/api/v1/namespaces"
	kept       = namespaces + "/kept"
)

func (k *hosted) write(t *testing.T) {
	t.Helper()
	status, text, err := k.request(t, k.access.Token, http.MethodPost, namespaces, `{"metadata": {"name": "kept"}}`)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s %v", status, text, err)
	}
}

// awaitKept waits until the cluster is ONLINE and has what was written.
func (k *hosted) awaitKept(t *testing.T) {
	t.Helper()
	eventually(t, "the cluster has what was written", func() string {
		k.await(t, sdk.StatusOnline, "")
		status, text, err := k.request(t, k.access.Token, http.MethodGet, kept, "")
		if err != nil || status != http.StatusOK {
			return fmt.Sprintf("%d %s %v", status, text, err)
		}
		return ""
	})
}

// expect checks the answer to a token.
func (k *hosted) expect(t *testing.T, token string, want int) {
	t.Helper()
	if status, text, err := k.request(t, token, http.MethodGet, kept, ""); err != nil || status != want {
		t.Errorf("status %d, want %d: %s %v", status, want, text, err)
	}
}

func (k *hosted) request(t *testing.T, token, method, path, body string) (status int, text string, err error) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(k.access.CertificateAuthority)) {
		t.Fatalf("no certificate: %q", k.access.CertificateAuthority)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(t.Context(), method, k.access.Endpoint+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close() // The body has been read.
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(content), err
}
