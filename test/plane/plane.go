// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plane runs the real bowline program for tests of the whole system: in a folder of its own, on free ports. A test kills
// and restarts it; the end of the test stops it.
//
//	p := plane.New(t)
//	p.Up(t)
//	p.Client.Create(ctx, database)
//	p.Kill(t) // as kill -9 does
//	p.Up(t)
package plane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/providers/sql"
)

// stopLimit is how long bowline down may take.
const stopLimit = time.Minute

// Main runs the tests of a package, most of which wait for other processes: more of them at a time than there are processors.
func Main(m *testing.M) int {
	const parallel = "test.parallel"
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == parallel })
	if !chosen {
		if err := flag.Set(parallel, "6"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// A Plane is one bowline with its data folder.
type Plane struct {
	Dir    string           // the data folder
	Cloud  string           // the URL of the local cloud; it stays the same over restarts
	Client client.WithWatch // an administrator's client without a cache. It is valid after the first Up.

	args    []string // of bowline up, with the program
	home    string
	process *process.Process // the last one
}

// New prepares a plane; Up starts it. More arguments are given to `bowline up`.
func New(t testing.TB, args ...string) *Plane {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cloud := testkit.FreeAddress(t)
	p := &Plane{
		Dir:   filepath.Join(dir, "data"),
		Cloud: "http://" + cloud,
		home:  dir,
	}
	p.args = append([]string{binary, "up", "--data-dir", p.Dir, "--listen", testkit.FreeAddress(t), "--cloud-listen", cloud}, args...)
	t.Cleanup(func() { p.end(t) })
	return p
}

// Up starts bowline and returns how long it took to become ready.
func (p *Plane) Up(t testing.TB) time.Duration {
	t.Helper()
	begin := time.Now()
	started, err := process.Start(t.Context(), process.Config{Args: p.args, Dir: p.home, Ready: "Bowline is ready"})
	if err != nil {
		t.Fatal(err)
	}
	p.process = started
	took := time.Since(begin)
	if p.Client == nil {
		p.Client = p.newClient(t)
	}
	return took
}

// Kill ends bowline as kill -9 does.
func (p *Plane) Kill(t testing.TB) {
	t.Helper()
	if err := p.process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// Run runs another bowline command on the plane and returns what it printed, both streams.
func (p *Plane) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.args[0], args...)
	cmd.Env = append(append(os.Environ(), process.Environment(p.home)...), "BOWLINE_DATA_DIR="+p.Dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// PID of the running program.
func (p *Plane) PID() int { return p.process.PID() }

// end stops bowline and every database server of its cloud.
func (p *Plane) end(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if out, err := p.Run(ctx, "down", "--data-dir", p.Dir); err != nil {
		t.Errorf("bowline down: %v\n%s", err, out)
	}
	if p.process != nil {
		<-p.process.Exited()
	}
	if left := p.Servers(t); len(left) > 0 {
		t.Errorf("database servers left behind: %v", left)
		for _, s := range left {
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
		}
	}
	if t.Failed() && p.process != nil {
		t.Logf("end of the log:\n%s", p.process.Log())
	}
	if instances, err := filepath.EvalSymlinks(p.instances()); err == nil {
		os.RemoveAll(instances)
	}
}

func (p *Plane) newClient(t testing.TB) client.WithWatch {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(p.Dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return NewClient(t, config)
}

// NewClient returns a client without a cache, for the kinds of all providers.
func NewClient(t testing.TB, config *rest.Config) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))
	for _, kinds := range []provider.Provider{core.Provider(), fcp.Provider(), sql.Provider()} {
		err = errors.Join(err, kinds.AddToScheme(scheme))
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Setting returns a number from the environment, or otherwise.
func Setting(t testing.TB, name string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Random returns the random source of a run. BOWLINE_SEED repeats one.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := Setting(t, "BOWLINE_SEED", time.Now().UnixNano())
	fmt.Fprintf(t.Output(), "seed %d\n", seed)
	return rand.New(rand.NewPCG(uint64(seed), 0))
}

// Create creates objects.
func (p *Plane) Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := p.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// Settled returns nil if the object was reconciled in its present form and is Ready. It reads the object again.
func (p *Plane) Settled(ctx context.Context, mg resource.Managed) error {
	return testkit.Settled(p.Client, mg)(ctx)
}

// Secret returns the data of a Secret as text.
func (p *Plane) Secret(ctx context.Context, namespace, name string) (map[string]string, error) {
	secret := &corev1.Secret{}
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		return nil, err
	}
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data, nil
}

// Eventually waits until check returns nil, and logs the end of bowline's log if that takes longer than limit.
func (p *Plane) Eventually(t testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	Eventually(t, limit, what, check)
}

// Eventually waits until check returns nil. Its context ends with the limit.
func Eventually(t testing.TB, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	testkit.Within(t, limit, what, func() error { return check(ctx) })
}

// build builds the program unless it is up to date.
var build = sync.OnceValues(func() (string, error) {
	root, err := testkit.Make("build")
	return filepath.Join(root, "bin", "bowline"), err
})

// Build builds bin/bowline in the checkout unless it is up to date.
func Build() error {
	_, err := build()
	return err
}

func (p *Plane) instances() string { return filepath.Join(p.Dir, "cloud", "instances") }

// A Server is a running PostgreSQL server of the plane's cloud.
type Server struct {
	PID  int    // of the postmaster
	Data string // its data folder
}

// Servers lists the PostgreSQL servers that run in the plane's folders, found among all processes of the machine.
func (p *Plane) Servers(t testing.TB) (servers []Server) {
	t.Helper()
	instances, err := filepath.EvalSymlinks(p.instances())
	if err != nil {
		return nil // no instance was created
	}
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range all {
		words, err := proc.CmdLine()
		data := slices.Index(words, "-D") + 1
		if err != nil || data == 0 || data == len(words) || !strings.HasSuffix(words[0], "postgres") || // or it has ended
			!strings.HasPrefix(words[data], instances+"/") || childOfPostgres(proc) {
			continue
		}
		servers = append(servers, Server{PID: proc.PID, Data: words[data]})
	}
	return servers
}

// childOfPostgres is true for a process that a PostgreSQL server forked: for a moment it still has its parent's arguments.
func childOfPostgres(p procfs.Proc) bool {
	stat, err := p.Stat()
	if err != nil {
		return true // it has ended
	}
	parent, err := procfs.NewProc(stat.PPID)
	if err != nil {
		return false
	}
	name, err := parent.Comm()
	return err == nil && name == "postgres"
}
