// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/kubernetes/cluster"
	"github.com/bowline-dev/bowline/test/plane"
)

// startNode lets this machine run the image in pods, as far as the restricted standard for pods permits. The function that it returns describes
// the pods if the test failed.
func (w *world) startNode(t *testing.T) (describe func()) {
	t.Helper()
	root, err := testkit.Make("node-images")
	w.do(err)
	image := func(name string, names ...string) cluster.Image {
		return cluster.Image{Archive: filepath.Join(root, "bin", "node", name+".tar"), Names: names}
	}
	w.StartNode(t, image("pause", "registry.example.org/pause:v1"), image("bowline", repository+":v1", repository+":v2"))
	w.createRestrictedNamespace()
	return func() {
		if t.Failed() {
			out, err := exec.Command(w.bowline, "kubectl", "--kubeconfig="+w.Kubeconfig, "--namespace="+system, "describe", "pods").CombinedOutput()
			t.Logf("%s %v", out, err)
		}
	}
}

// createRestrictedNamespace creates the namespace of Bowline, in which the API servers refuse pods with more rights than the restricted
// standard permits.
func (w *world) createRestrictedNamespace() {
	w.t.Helper()
	w.apply("", []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+system+", labels: {pod-security.kubernetes.io/enforce: restricted}}}"))
}

// measure logs what the pods need without objects and with many, which outlast an uninstallation.
func (w *world) measure(t *testing.T) {
	t.Helper()
	w.createRestrictedNamespace()
	w.install(cluster.NodeAddress)
	helm, chart := w.helm()
	install := func() {
		begin := time.Now()
		helm("install", chart, "--wait", "--take-ownership", "--force-conflicts", "--set", "image.repository="+repository+",image.tag=v2")
		t.Logf("helm install --wait took %.1f s", time.Since(begin).Seconds())
	}
	install()
	f := &failover{world: w, t: t, objects: int(plane.Setting(t, "BOWLINE_OBJECTS", 2000))}
	f.limit(0)
	w.footprint(t, 0)
	f.begin = time.Now()
	f.do(f.create())
	f.allReady()
	w.footprint(t, f.objects)
	helm("uninstall", "--wait")
	f.judge()
	install()
	f.allReady()
	f.judge()
	f.remove()
}

// footprint logs what the pods need while nothing changes.
func (w *world) footprint(t *testing.T, objects int) {
	t.Helper()
	const settles, measured = 90 * time.Second, time.Minute // all objects are polled once in each minute
	<-time.After(settles)
	before := w.usage()
	<-time.After(measured)
	leader, err := w.holder(t.Context())
	w.do(err)
	for name, now := range w.usage() {
		then, ran := before[name]
		if !ran {
			t.Errorf("pod %s was started meanwhile", name)
			continue
		}
		does := "stands by"
		if strings.HasPrefix(leader, name) {
			does = "leads"
		}
		cpu := time.Duration(now.CPU.UsageCoreNanoSeconds - then.CPU.UsageCoreNanoSeconds)
		t.Logf("%d objects, a pod that %s: %d MB working set, %d MB resident, %.1f %% of a core", objects, does, now.Memory.WorkingSetBytes>>20,
			now.Memory.RSSBytes>>20, 100*cpu.Seconds()/now.CPU.Time.Sub(then.CPU.Time).Seconds())
	}
}

// podUsage is what the kubelet reports of a pod.
type podUsage struct {
	PodRef struct{ Name, Namespace string }
	CPU    struct {
		Time                 time.Time // of the sample
		UsageCoreNanoSeconds int64
	}
	Memory struct{ WorkingSetBytes, RSSBytes int64 }
}

// usage returns what the pods of Bowline use, by name.
func (w *world) usage() map[string]podUsage {
	w.t.Helper()
	http, err := rest.UnversionedRESTClientFor(&rest.Config{Host: w.Config.Host, BearerToken: w.Config.BearerToken, TLSClientConfig: w.Config.TLSClientConfig,
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs}})
	w.do(err)
	answer, err := http.Get().AbsPath("/api/v1/nodes/node/proxy/stats/summary").DoRaw(w.t.Context())
	w.do(err)
	var summary struct{ Pods []podUsage }
	w.do(json.Unmarshal(answer, &summary))
	pods := map[string]podUsage{}
	for _, pod := range summary.Pods {
		if pod.PodRef.Namespace == system {
			pods[pod.PodRef.Name] = pod
		}
	}
	if len(pods) == 0 {
		w.t.Fatal("the kubelet knows no pods")
	}
	return pods
}
