// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes runs Bowline against a real control plane of Kubernetes, with the manifests that it prints and the account in them.
//
// BOWLINE_OBJECTS is how many objects are created while something fails, and BOWLINE_FREEZES how often a leader is frozen.
// BOWLINE_SEED repeats a run.
package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/kubernetes/cluster"
	"github.com/bowline-dev/bowline/test/plane"
)

const (
	system   = "bowline-system" // the namespace of the manifests
	account  = "bowline-controllers"
	project  = "quickstart" // in the cloud, as in examples/quickstart
	patience = 5 * time.Minute
)

// A world is a cluster in which Bowline is installed, and a cloud outside of it.
type world struct {
	*cluster.Cluster

	t          *testing.T
	client     client.WithWatch // an administrator's
	cloud      *inspect.Cloud
	project    *inspect.Project
	bowline    string   // the program
	args       []string // of the controllers in the manifests
	kubeconfig string   // of their account
	random     *rand.Rand
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := newEmptyWorld(t)
	w.install("127.0.0.1")
	return w
}

// newEmptyWorld returns a cluster in which nothing is installed.
func newEmptyWorld(t *testing.T) *world {
	t.Helper()
	root, err := testkit.Make("build")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, Cluster: cluster.Start(t), bowline: filepath.Join(root, "bin", "bowline"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"),
		random: plane.Random(t),
	}
	w.client = plane.NewClient(t, w.Config)
	return w
}

func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// install starts the cloud at an address, and applies what bowline manifests prints, and what the quickstart's platform team applies.
func (w *world) install(host string) {
	w.t.Helper()
	var err error
	w.cloud, err = inspect.StartCloud(favouritecloud.Config{DataDir: w.t.TempDir(), Listen: host + ":0"})
	w.do(err)
	w.t.Cleanup(func() {
		if err := w.cloud.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	w.apply("", w.manifests())
	w.readArguments()
	w.do(w.authenticate(w.t.Context(), account, w.kubeconfig))

	key, err := w.cloud.NewKey(w.t.Context(), project)
	w.do(err)
	w.project, err = inspect.NewProject(w.cloud.URL(), project, key)
	w.do(err)
	w.apply("", w.example("quickstart/namespace.yaml"))
	w.do(w.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "quickstart", Name: "favourite-cloud"}, StringData: map[string]string{"credentials": key},
	}))
	w.apply("", w.example("quickstart/providerconfig.yaml"))
	w.apply("", w.example("quickstart/class.yaml"))
}

const (
	repository   = "registry.example.org/bowline"
	printedImage = repository + ":v1"
)

func (w *world) manifests() []byte {
	w.t.Helper()
	cmd := exec.Command(w.bowline, "manifests", "--image", printedImage)
	cmd.Stderr = os.Stderr
	manifests, err := cmd.Output()
	w.do(err)
	return manifests
}

// readArguments reads the arguments of the controllers from their Deployment.
func (w *world) readArguments() {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.do(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: system, Name: account}, deployment))
	w.args = deployment.Spec.Template.Spec.Containers[0].Args
}

// authenticate writes a kubeconfig of a service account in the namespace of Bowline.
func (w *world) authenticate(ctx context.Context, account, file string) error {
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(7200))}}
	holder := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: account}}
	if err := w.client.SubResource("token").Create(ctx, holder, token); err != nil {
		return err
	}
	return w.WriteKubeconfig(file, token.Status.Token)
}

// example reads a file of the examples, for the cloud of this world.
func (w *world) example(file string) []byte {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "examples", file))
	w.do(err)
	return bytes.ReplaceAll(content, []byte("http://127.0.0.1:7070"), []byte(w.cloud.URL()))
}

// apply applies objects of YAML as kubectl does, those without a namespace in the given one if any, and waits until their definitions are
// served.
func (w *world) apply(namespace string, content []byte) {
	w.t.Helper()
	for documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if err == io.EOF {
			return
		}
		w.do(err)
		if len(o.Object) == 0 {
			continue
		}
		if namespace != "" {
			o.SetNamespace(namespace)
		}
		plane.Eventually(w.t, patience, "it is applied", func(ctx context.Context) error {
			return w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl"), client.ForceOwnership)
		})
	}
}

// A replica is a process of the controllers that is started again when it ends, as a Deployment does.
type replica struct {
	current atomic.Pointer[process.Process]
	ends    atomic.Int32 // how often it ended, or could not start
	config  process.Config
}

// replica starts a process with the account of the controllers and the flags of the manifests, until the end of t.
func (w *world) replica(t *testing.T, name string) *replica {
	t.Helper()
	health := testkit.FreeAddress(t)
	r := &replica{config: process.Config{
		Args: slices.Concat([]string{w.bowline}, w.args, []string{"--kubeconfig=" + w.kubeconfig, "--health-listen=" + health, "--metrics-listen="}),
		Dir:  filepath.Join(t.TempDir(), name), Check: func(ctx context.Context) error { return cluster.Get(ctx, "http://"+health+"/readyz") },
	}}
	if err := os.MkdirAll(r.config.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := process.Start(t.Context(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.current.Store(first)
	ended := make(chan error, 1)
	go func() { ended <- r.supervise(t.Context()) }()
	t.Cleanup(func() {
		if err := errors.Join(<-ended, r.crashed()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, r.current.Load().Log())
		}
	})
	return r
}

// supervise starts the process again and again until ctx ends, and stops the last one.
func (r *replica) supervise(ctx context.Context) error {
	for {
		select {
		case <-r.current.Load().Exited():
		case <-ctx.Done():
			return r.current.Load().Stop()
		}
		r.ends.Add(1)
		if p, err := process.Start(ctx, r.config); err == nil {
			r.current.Store(p)
		} else if ctx.Err() == nil { // no API server answers
			<-time.After(time.Second)
		}
	}
}

// crashed returns an error if the log has a panic.
func (r *replica) crashed() error {
	log, err := os.ReadFile(filepath.Join(r.config.Dir, "log"))
	if at := crash.FindIndex(log); at != nil {
		err = fmt.Errorf("it crashed:\n%s", log[at[0]:min(at[0]+4000, len(log))])
	}
	return err
}

// crash is what the Go runtime, and controller-runtime for a controller, write of a panic.
var crash = regexp.MustCompile(`(?m)^(panic|fatal error): |Observed a panic`)

// signal sends a signal to the process.
func (r *replica) signal(s syscall.Signal) error { return syscall.Kill(r.current.Load().PID(), s) }

// holder returns the identity of the process that holds the leases, or held them when it ended; empty if none does.
func (w *world) holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: system, Name: "bowline-core"}, lease)
	return ptr.Deref(lease.Spec.HolderIdentity, ""), client.IgnoreNotFound(err)
}

// leader waits until another process than one holds the lease, and returns its identity.
func (w *world) leader(t *testing.T, another string) (identity string) {
	t.Helper()
	plane.Eventually(t, patience, "a process leads", func(ctx context.Context) (err error) {
		identity, err = w.holder(ctx)
		if err == nil && (identity == "" || identity == another) {
			err = errors.New("no other process holds the lease")
		}
		return err
	})
	return identity
}
