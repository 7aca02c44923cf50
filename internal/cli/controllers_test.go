// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// TestControllersWithoutTheirDefinitions runs controllers whose definitions an administrator installs, and forgets at first.
func TestControllersWithoutTheirDefinitions(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir, health := m.dataDir(), testkit.FreeAddress(t)
	m.start("The API server is ready", "apiserver", "--data-dir", dir, "--listen", "127.0.0.1:0")
	m.must("kubectl", "create", "namespace", "shop")
	m.apply(m.must("crds", "--providers", "core"))
	m.start("The controllers work", "controllers", "--kubeconfig", controlplane.KubeconfigPath(dir), "--install-crds=false",
		"--providers", "core,sql", "--health-listen", health, "--leader-elect", "--log-format", "json", "--metrics-listen", "")
	m.must("kubectl", "get", "lease", "bowline-core", "bowline-sql", "-n", plane.SystemNamespace)
	ready := func(want int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := testkit.Poll(ctx, func() error {
			answer, err := http.Get("http://" + health + "/readyz")
			if err != nil {
				return err
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				return fmt.Errorf("/readyz answers %d, want %d", answer.StatusCode, want)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	ready(http.StatusInternalServerError)
	m.apply(`{apiVersion: database.crossplane.io/v1alpha1, kind: PostgreSQLInstance, metadata: {name: orders, namespace: shop}, spec: {}}`)
	m.apply(m.must("crds", "--providers", "sql"))
	ready(http.StatusOK)
	m.must("kubectl", "wait", "--for=condition=Ready=False", "postgresqlinstance/orders", "-n", "shop", "--timeout=30s") // sql has classes for it
	const extensions = "extensions.postgresql.sql.bowline.dev"
	m.must("kubectl", "annotate", "crd", extensions, meta.AnnotationKeyAllowDeletion+"=true")
	m.must("kubectl", "delete", "crd", extensions, "--wait=false")
	ready(http.StatusInternalServerError)
}

// What is printed for a cluster is what kubectl accepts, and follows the choice of providers.
func TestManifests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args      string
		has, lack string
	}{
		"definitions":              {"crds", "bowline.dev/managed-by: bowline", "kind: ClusterRole"},
		"policies with them":       {"crds --providers fcp", "kind: ValidatingAdmissionPolicyBinding", "postgresql.sql"},
		"roles":                    {"rbac --providers sql", "postgresql.sql", "fcp.crossplane.io"},
		"a Deployment":             {"manifests --image example.org/bowline:1", "image: example.org/bowline:1", "--providers="},
		"a Deployment of a choice": {"manifests --image i --providers core --providers sql", "--providers=core,sql", "fcp.crossplane.io"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runHere(t, strings.Fields(tc.args)...)
			if got.code != exitOK || !strings.Contains(got.out, tc.has) || strings.Contains(got.out, tc.lack) {
				t.Errorf("exit code %d, want %q and not %q: %s", got.code, tc.has, tc.lack, got.err)
			}
		})
	}
	runHere(t, "manifests").want(t, exitUsage, "", "--image")
	runHere(t, "crds", "--providers", "sqll").want(t, exitUsage, "", `no provider "sqll": choose one of core, fcp, sql`)
	runHere(t, "controllers", "--log-format", "xml", "--kubeconfig", "none").want(t, exitUsage, "", "must be text or json")
}
