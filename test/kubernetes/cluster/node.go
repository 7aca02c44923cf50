// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NodeAddress is an address of this machine that pods reach.
const NodeAddress = "10.1.0.1"

const (
	serviceNetwork = "10.0.0.0/24"
	serviceAddress = "10.0.0.1" // of the API servers, for pods: the first of the network
	podNetwork     = "10.2.0.0/24"
)

// An Image is an archive in the OCI layout, and the names that it gets.
type Image struct {
	Archive string
	Names   []string
}

// StartNode lets this machine run pods, until the end of the test: it starts containerd, the kubelet and the scheduler, and returns when the
// node is Ready. The first image is the one that holds the network of a pod. It fails unless node.sh runs the test.
func (c *Cluster) StartNode(t testing.TB, images ...Image) {
	t.Helper()
	if err := c.startNode(t, images); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) startNode(t testing.TB, images []Image) error {
	if os.Getpid() != 1 {
		return errors.New("a node needs namespaces of its own: run this by make test-kubernetes-node")
	}
	dir, err := os.MkdirTemp("", "") // paths of sockets are short, which those of the test's folder are not
	if err == nil {
		err = writeNodeFiles(dir, images[0].Names[0])
	}
	if err != nil {
		return err
	}
	for _, args := range []string{"address add " + NodeAddress + "/32 dev lo", "address add " + serviceAddress + "/32 dev lo"} {
		if err := run("ip", strings.Fields(args)...); err != nil {
			return err
		}
	}
	if _, err := balance(t.Context(), serviceAddress+":443", strings.TrimPrefix(c.Config.Host, "https://")); err != nil {
		return err
	}
	socket := filepath.Join(dir, "containerd.sock")
	containerd := c.describe(t, "containerd", "", func(context.Context) error { return run("ctr", "--address", socket, "version") })
	containerd.config.Args = []string{"containerd", "--config", filepath.Join(dir, "containerd.toml")}
	if err := c.startForTest(t, containerd); err != nil {
		return err
	}
	for _, image := range images {
		if err := image.load(socket); err != nil {
			return err
		}
	}
	begin := time.Now()
	kubelet := c.describe(t, "kubelet", "", c.nodeIsReady, "--config="+filepath.Join(dir, "kubelet.yaml"), "--kubeconfig="+c.Kubeconfig,
		"--hostname-override=node", "--node-ip="+NodeAddress, "--root-dir="+filepath.Join(dir, "kubelet"), "--cert-dir="+filepath.Join(dir, "pki"))
	scheduler := c.describe(t, "kube-scheduler", "", func(context.Context) error { return nil }, "--kubeconfig="+c.Kubeconfig,
		"--leader-elect=false", "--secure-port=0")
	if err := errors.Join(c.startForTest(t, kubelet), c.startForTest(t, scheduler)); err != nil {
		return err
	}
	t.Logf("the node is Ready after %.1f s", time.Since(begin).Seconds())
	return nil
}

// startForTest starts a server that is stopped at the end of the test.
func (c *Cluster) startForTest(t testing.TB, s *Server) error {
	if err := errors.Join(os.MkdirAll(s.config.Dir, 0o700), s.Start()); err != nil {
		return err
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return nil
}

// nodeIsReady returns nil if the node can run pods.
func (c *Cluster) nodeIsReady(ctx context.Context) error {
	reader, err := client.New(c.Config, client.Options{})
	node := &corev1.Node{}
	if err == nil {
		err = reader.Get(ctx, client.ObjectKey{Name: "node"}, node)
	}
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("the node is not Ready")
}

// load imports an image into containerd for Kubernetes.
func (i Image) load(socket string) error {
	ctr := func(args ...string) error {
		return run("ctr", append([]string{"--address", socket, "--namespace", "k8s.io", "images"}, args...)...)
	}
	if err := ctr("import", "--index-name", i.Names[0], i.Archive); err != nil {
		return err
	}
	for _, name := range i.Names[1:] {
		if err := ctr("tag", i.Names[0], name); err != nil {
			return err
		}
	}
	return nil
}

func run(program string, args ...string) error {
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

// writeNodeFiles writes the configurations of the servers of a node.
func writeNodeFiles(dir, pause string) error {
	values := map[string]string{"DIR": dir, "PAUSE": pause, "PODS": podNetwork}
	for name, text := range map[string]string{
		"containerd.toml": `
version = 2
root = "${DIR}/root"
state = "${DIR}/state"
[grpc]
  address = "${DIR}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${DIR}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${DIR}/cni"
`,
		"cni/pods.conflist": `{
  "cniVersion": "0.4.0", "name": "pods",
  "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "subnet": "${PODS}", "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "${DIR}/addresses"}}]
}`,
		"kubelet.yaml": `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://${DIR}/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /bowline-node
volumePluginDir: ${DIR}/plugins
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false # pods reach addresses of this machine only
resolvConf: ${DIR}/resolv.conf
podLogsDir: ${DIR}/logs
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}} # its address is in a namespace of the test
authorization: {mode: AlwaysAllow}
evictionHard: {memory.available: 1Mi} # not for a full disk
imageGCHighThresholdPercent: 100
`,
		"resolv.conf": "",
	} {
		file := filepath.Join(dir, name)
		text = os.Expand(text, func(name string) string { return values[name] })
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}
