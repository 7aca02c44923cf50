// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external builds a provider as an external author does: in a module of its own, from the exports of pkg and apis.
// The provider is in testdata/gadgets.
package external_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// The module contains only the provider's own code; the rest comes from pkg, without a server.
func TestProgram(t *testing.T) {
	dir := writeModule(t)
	program := filepath.Join(dir, "gadgets")
	began := time.Now()
	goTool(t, dir, "build", "-o", program, ".")
	took := time.Since(began)
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("built in %v, %.1f MiB", took.Round(10*time.Millisecond), float64(info.Size())/(1<<20))
	t.Run("links no server (A73)", func(t *testing.T) {
		deps := strings.Fields(goTool(t, dir, "list", "-deps", "."))
		for _, dep := range deps {
			for _, heavy := range []string{"k8s.io/kubernetes/", "go.etcd.io/", "k8s.io/apiserver/", "github.com/bowline-dev/bowline/controlplane"} {
				if strings.HasPrefix(dep, heavy) {
					t.Errorf("it links %s", dep)
				}
			}
		}
		t.Logf("%d packages", len(deps))
	})
	env := controlplanetest.New(t)
	t.Run("runs and stops (A73, T40)", func(t *testing.T) { runs(t, env, program) })
	t.Run("busy address (A73)", func(t *testing.T) { busy(t, env, program) })
}

// writeModule writes the provider's module, which needs the versions of the checkout, so that nothing is downloaded.
func writeModule(t *testing.T) (dir string) {
	t.Helper()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/gadgets")); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	gosum, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, requirements, _ := strings.Cut(string(gomod), "require (")
	module := "module gadgets.example.org\n\ngo 1.26.0\n\nrequire github.com/bowline-dev/bowline v0.0.0\n\n" +
		"replace github.com/bowline-dev/bowline => " + checkout + "\n\nrequire (" + requirements
	for name, content := range map[string][]byte{"go.mod": []byte(module), "go.sum": gosum} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goTool runs the go command in a module, offline, and returns its output.
func goTool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	// With the flags of this build its cache serves, too.
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off", "PWD="+dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go %s in another module: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String()
}

// runs starts the program, creates an object, reads probes and metrics, and stops it.
func runs(t *testing.T, env *controlplanetest.Env, program string) {
	health, metrics := testkit.FreeAddress(t), testkit.FreeAddress(t)
	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, "--kubeconfig", kubeconfig(t, env.Config), "--leader-elect",
		"--health-listen", health, "--metrics-listen", metrics)
	cmd.Stderr = &log // and no line to standard output, which testkit/process waits for
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for _, url := range []string{"http://" + health + "/readyz", "http://" + health + "/healthz", "http://" + metrics + "/metrics"} {
		env.Eventually(t, url+" answers", func(ctx context.Context) error { return get(ctx, url) })
	}
	config := object("ProviderConfig", "default", map[string]any{"credentials": map[string]any{"source": "None"}})
	gadget := object("Gadget", env.Prefix+"gadget", map[string]any{"forProvider": map[string]any{"size": int64(1)}})
	for _, o := range []client.Object{config, gadget} {
		if err := env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	env.Eventually(t, "the gadget is Ready", func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(gadget), gadget); err != nil {
			return err
		}
		if status := fmt.Sprint(gadget.Object["status"]); !strings.Contains(status, "reason:Available") {
			return fmt.Errorf("status %s", status)
		}
		return nil
	})
	for _, o := range []client.Object{gadget, config} {
		remove(t, env, o)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v, and logged:\n%s", err, &log)
	}
}

// busy starts the program with an address in use.
func busy(t *testing.T, env *controlplanetest.Env, program string) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"--metrics-listen", "--health-listen"} {
		args := []string{"--kubeconfig", kubeconfig(t, env.Config), "--metrics-listen=", flag, taken.Addr().String()}
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "choose another address with --metrics-listen or --health-listen") {
			t.Errorf("%s: it ended with %v, and printed:\n%s", flag, err, out)
		}
	}
}

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gadgets.example.org/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func remove(t *testing.T, env *controlplanetest.Env, o client.Object) {
	t.Helper()
	env.Eventually(t, o.GetName()+" is deleted", func(ctx context.Context) error {
		err := env.Client.Delete(ctx, o)
		if err == nil {
			return fmt.Errorf("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || len(body) == 0) {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

// kubeconfig writes the access to a file.
func kubeconfig(t *testing.T, rc *rest.Config) string {
	t.Helper()
	const name = "test"
	content := clientcmdapi.NewConfig()
	content.Clusters[name] = &clientcmdapi.Cluster{Server: rc.Host, CertificateAuthorityData: rc.CAData, CertificateAuthority: rc.CAFile}
	content.AuthInfos[name] = &clientcmdapi.AuthInfo{
		Token: rc.BearerToken, ClientCertificateData: rc.CertData, ClientKeyData: rc.KeyData,
		ClientCertificate: rc.CertFile, ClientKey: rc.KeyFile,
	}
	content.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	content.CurrentContext = name
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*content, file); err != nil {
		t.Fatal(err)
	}
	return file
}
