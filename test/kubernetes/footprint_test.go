// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/test/kubernetes/cluster"
	"github.com/bowline-dev/bowline/test/plane"
)

// startNode lets this machine run the image in pods, as far as the restricted standard for pods permits.
func (w *world) startNode(t *testing.T) {
	t.Helper()
	root, err := plane.Make("node-images")
	w.do(err)
	image := func(name string, names ...string) cluster.Image {
		return cluster.Image{Archive: filepath.Join(root, "bin", "node", name+".tar"), Names: names}
	}
	w.StartNode(t, image("pause", "registry.example.org/pause:v1"), image("bowline", printedImage, strings.TrimSuffix(printedImage, "v1")+"v2"))
	t.Cleanup(func() {
		if t.Failed() {
			out, err := exec.Command(w.bowline, "kubectl", "--kubeconfig="+w.Kubeconfig, "--namespace="+system, "describe", "pods").CombinedOutput()
			t.Logf("%s %v", out, err)
		}
	})
	w.restricted()
}

// measure installs Bowline, and logs what the pods need without objects and with many.
func (w *world) measure(t *testing.T) {
	t.Helper()
	w.restricted()
	w.install(cluster.NodeAddress)
	plane.Eventually(t, patience, "the pods run", func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		err := w.client.Get(ctx, client.ObjectKey{Namespace: system, Name: account}, d)
		if err == nil && d.Status.AvailableReplicas != 2 {
			err = fmt.Errorf("%d pods are available", d.Status.AvailableReplicas)
		}
		return err
	})
	f := &failover{world: w, t: t, objects: int(plane.Setting(t, "BOWLINE_OBJECTS", 2000))}
	f.limit(0)
	w.footprint(t, 0)
	f.begin = time.Now()
	f.do(f.create())
	f.allReady()
	w.footprint(t, f.objects)
	f.remove()
}

// restricted makes the namespace of Bowline, in which the API servers refuse pods with more rights than the restricted standard permits.
func (w *world) restricted() {
	w.t.Helper()
	w.apply("", []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+system+", labels: {pod-security.kubernetes.io/enforce: restricted}}}"))
}

// footprint logs what the pods need while nothing changes.
func (w *world) footprint(t *testing.T, objects int) {
	t.Helper()
	const settles, measured = 90 * time.Second, time.Minute // all objects are polled once in each minute
	<-time.After(settles)
	before, begin := w.usage(), time.Now()
	<-time.After(measured)
	for name, now := range w.usage() {
		cpu := time.Duration(now.CPU.UsageCoreNanoSeconds - before[name].CPU.UsageCoreNanoSeconds)
		t.Logf("%d objects, %s: %d MB working set, %d MB resident, %.1f %% of a core", objects, name, now.Memory.WorkingSetBytes>>20,
			now.Memory.RSSBytes>>20, 100*cpu.Seconds()/time.Since(begin).Seconds())
	}
}

// podUsage is what the kubelet says of a pod.
type podUsage struct {
	PodRef struct{ Name, Namespace string }
	CPU    struct{ UsageCoreNanoSeconds int64 }
	Memory struct{ WorkingSetBytes, RSSBytes int64 }
}

// usage returns what the pods of Bowline use, by name.
func (w *world) usage() map[string]podUsage {
	w.t.Helper()
	transport, err := rest.HTTPClientFor(w.Config)
	w.do(err)
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.Config.Host+"/api/v1/nodes/node/proxy/stats/summary", nil)
	w.do(err)
	answer, err := transport.Do(request)
	w.do(err)
	defer answer.Body.Close()
	var summary struct{ Pods []podUsage }
	w.do(json.NewDecoder(answer.Body).Decode(&summary))
	pods := map[string]podUsage{}
	for _, pod := range summary.Pods {
		if pod.PodRef.Namespace == system {
			pods[pod.PodRef.Name] = pod
		}
	}
	if len(pods) == 0 {
		w.t.Fatalf("the kubelet knows no pods: %s", answer.Status)
	}
	return pods
}
