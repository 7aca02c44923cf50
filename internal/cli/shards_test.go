// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/plane"
)

// TestControllersInProcessesOfTheirOwn divides the work: by provider, and that of one provider by its ProviderConfigs. The claims of the
// core are installed after the provider has started.
func TestControllersInProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir := m.dataDir()
	controllers := func(providers, selector string) (interrupt func()) {
		return m.start("The controllers work", "controllers", "--kubeconfig", controlplane.KubeconfigPath(dir), "--leader-elect", "--metrics-listen", "",
			"--providers", providers, "--watch-label-selector", selector)
	}
	m.start("The API server is ready", "apiserver", "--data-dir", dir, "--listen", "127.0.0.1:0")
	m.start("The local cloud is ready", "cloud", "--data-dir", dir, "--cloud-listen", "127.0.0.1:0")
	controllers("fcp", "shard=a")
	stopRest := controllers("fcp", "shard!=a")
	controllers("core", "")
	m.must("kubectl", "get", "lease", "bowline-core", "bowline-fcp", "-n", plane.SystemNamespace)

	endpoint, err := favouritecloud.ReadEndpoint(datadir.CloudDir(dir))
	check(t, err)
	m.must("kubectl", "create", "namespace", "shop")
	m.must("kubectl", "create", "secret", "generic", "cloud", "-n", "default",
		"--from-literal=key="+strings.TrimSpace(m.must("cloud", "key", "create", "--project", "demo")))
	for name, labels := range map[string]string{"a": "{shard: a}", "b": "{}", "default": "{}"} {
		for _, kind := range []string{"apiVersion: fcp.crossplane.io/v1alpha3, kind: ProviderConfig",
			"apiVersion: fcp.m.crossplane.io/v1alpha3, kind: ClusterProviderConfig"} {
			m.apply(fmt.Sprintf(`{%s, metadata: {name: %s, labels: %s}, spec: {endpoint: %q, projectID: demo,
				credentials: {source: Secret, secretRef: {namespace: default, name: cloud, key: key}}}}`, kind, name, labels, endpoint))
		}
	}
	const network = "networks.network.fcp.crossplane.io"
	for _, config := range []string{"a", "b", "default"} {
		m.apply(fmt.Sprintf(`{apiVersion: network.fcp.crossplane.io/v1alpha3, kind: Network, metadata: {name: %s},
			spec: {providerConfigRef: {name: %[1]s}, forProvider: {cidrBlock: 10.0.0.0/16}}}`, config))
	}
	m.must("kubectl", "wait", "--for=condition=Ready", network+"/a", network+"/b", network+"/default", "--timeout=30s")

	t.Run("claims and targets", func(t *testing.T) {
		m := &machine{t, m.env}
		m.apply(`{apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstanceClass, metadata: {name: standard,
			annotations: {resourceclass.crossplane.io/is-default-class: "true"}},
			specTemplate: {writeConnectionSecretsToNamespace: default, reclaimPolicy: Delete, forProvider: {fancinessLevel: 10}}}`)
		m.apply(`{apiVersion: database.crossplane.io/v1alpha1, kind: PostgreSQLInstance, metadata: {name: orders, namespace: shop},
			spec: {writeConnectionSecretToRef: {name: orders}}}`)
		m.must("kubectl", "wait", "--for=condition=Ready", "postgresqlinstance/orders", "-n", "shop", "--timeout=60s")
		bound := m.must("kubectl", "get", "postgresqlinstance/orders", "-n", "shop", "-o", "jsonpath={.spec.resourceRef.name}")
		target := `{apiVersion: workload.crossplane.io/v1alpha1, kind: KubernetesTarget, metadata: {name: %s, namespace: shop},
			spec: {connectionSecretRef: {name: %[1]s}, clusterRef: {apiVersion: database.fcp.crossplane.io/v1alpha3, kind: %s, name: %s}}}`
		m.apply(fmt.Sprintf(target, "known", "FavouriteDBInstance", bound))
		m.apply(fmt.Sprintf(target, "unknown", "FavouriteDBCluster", bound))
		m.must("kubectl", "wait", "--for=condition=Ready", "kubernetestarget/known", "-n", "shop", "--timeout=30s")
		m.must("kubectl", "wait", "--for=condition=Ready=False", "kubernetestarget/unknown", "-n", "shop", "--timeout=30s")
		m.must("kubectl", "delete", "kubernetestarget/known", "kubernetestarget/unknown", "postgresqlinstance/orders", "-n", "shop", "--timeout=60s")
		m.run("kubectl", "get", "secret", "known", "-n", "shop").want(t, exitError, "", "not found")
	})
	t.Run("deletion in the order of references", func(t *testing.T) {
		m := &machine{t, m.env}
		const object = `{apiVersion: network.fcp.m.crossplane.io/v1alpha3, kind: %s, metadata: {name: one, namespace: shop},
			spec: {providerConfigRef: {kind: ClusterProviderConfig, name: %s}, forProvider: {%s}}}`
		m.apply(fmt.Sprintf(object, "Network", "a", "cidrBlock: 10.0.0.0/16"))
		m.apply(fmt.Sprintf(object, "Subnet", "b", "cidrBlock: 10.0.1.0/24, zone: zone-a, networkIdRef: {name: one}"))
		m.must("kubectl", "wait", "--for=condition=Ready", "subnets.network.fcp.m.crossplane.io/one", "-n", "shop", "--timeout=30s")
		m.must("kubectl", "delete", "networks.network.fcp.m.crossplane.io/one", "subnets.network.fcp.m.crossplane.io/one", "-n", "shop", "--timeout=60s")
	})
	t.Run("a handover", func(t *testing.T) {
		m := &machine{t, m.env}
		stopRest()
		if got := m.run("status", "--kubeconfig", controlplane.KubeconfigPath(dir)); strings.Contains(got.out, "No controllers") {
			t.Errorf("others of the provider run, but: %s", got)
		}
		changed := "--for=jsonpath={.status.conditions[?(@.type=='Synced')].observedGeneration}="
		for _, name := range []string{"b", "default"} {
			m.must("kubectl", "patch", network+"/"+name, "--type=merge", "-p", `{"spec": {"forProvider": {"description": "changed"}}}`)
		}
		changed += m.must("kubectl", "get", network+"/b", "-o", "jsonpath={.metadata.generation}")
		m.must("kubectl", "label", "providerconfigs.fcp.crossplane.io/b", "shard=a")
		m.must("kubectl", "wait", changed, network+"/b", "--timeout=10s")

		m.run("kubectl", "wait", changed, network+"/default", "--timeout=1s").want(t, exitError, "", "timed out")
	})
}
