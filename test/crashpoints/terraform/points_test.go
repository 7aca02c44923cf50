// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terraform kills controllers of Terraform kinds, or the provider's process, at every request of theirs to the API server and to the
// cloud: nothing is created twice, lost or left behind.
//
// Controllers are a process of their own, which SIGKILL or SIGTERM ends while a request is on its way. Journal and provider outlive them. The
// API server, the cloud and the provider's program are real. A kill of the provider itself during a creation may need a person
// where its result has a password that only the answer had; it never makes a second resource.
package terraform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/test/inspect"
)

func TestMain(m *testing.M) {
	mainOfControllers()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(controlplanetest.Main(m))
}

const (
	// variableAll has all points tried, as make crashpoints does, not only the first change in the cloud.
	variableAll = "BOWLINE_TERRAFORM_POINTS"
	atOnce      = 4
	patience    = time.Minute // of an operation, and of its recovery
	objectName  = "object"
)

// A kind is a resource type of the provider.
type kind struct {
	name        string
	found       bool // what an interrupted creation made is found without a person
	forProvider map[string]any
	change      string    // a merge patch
	settings    [2]string // what it changes, before and after, as inspect.External has it
	opens       func(ctx context.Context, data map[string][]byte) error
}

var database = kind{
	name: "Database", opens: inspect.OpensPostgreSQL, forProvider: map[string]any{"name": objectName, "fancinessLevel": int64(20)},
	change: `{"spec":{"forProvider":{"fancinessLevel":30}}}`, settings: [2]string{"20", "30"},
}

// A network has an id of the cloud's choice, and each request to create one creates another: it is found by its label in a list.
var network = kind{
	name: "Network", found: true, forProvider: map[string]any{"cidrBlock": "10.0.0.0/8", "mtu": int64(1400)},
	change: `{"spec":{"forProvider":{"mtu":9000}}}`, settings: [2]string{"1400", "9000"},
}

// Wherever controllers of Terraform kinds are killed or asked to end, nothing is doubled, lost, left behind or waits for a person.
func TestCrashPoints(t *testing.T) {
	program := mirror.Program(t, providerName)
	cloud, err := inspect.StartCloud(favouritecloud.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Stop(); err != nil {
			t.Error(err)
		}
	})
	install(t, program)
	slots := make(chan struct{}, atOnce)
	for _, k := range []kind{network, database} {
		for _, operation := range []string{create, update, remove} {
			t.Run(k.name+" "+operation, func(t *testing.T) {
				t.Parallel()
				stage := &stage{t: t, cloud: cloud, program: program, kind: k, operation: operation, slots: slots}
				stage.explore()
			})
		}
	}
}

// install defines the kinds.
func install(t *testing.T, program string) {
	t.Helper()
	schemas, err := readSchemas(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := kinds.ConfigDefinitions(providerName, schemas.Provider)
	for name, of := range schemas.Resources {
		more, moreErr := kinds.Definitions(providerName, name, of)
		definitions, err = append(definitions, more...), errors.Join(err, moreErr)
	}
	if err := errors.Join(err, controlplanetest.Install(t.Context(), controlplanetest.Config(t), definitions...)); err != nil {
		t.Fatal(err)
	}
}

// The operations.
const (
	create = "create"
	update = "update"
	remove = "delete"
)

// A stage is an operation on a kind.
type stage struct {
	t         *testing.T
	cloud     *inspect.Cloud
	program   string
	kind      kind
	operation string
	slots     chan struct{}

	mu             sync.Mutex
	tried, waiting int // waiting are those that need a person after a kill of the provider
}

// explore runs the operation without a fault, and with each fault at each point.
func (s *stage) explore() {
	started := time.Now()
	order, missed, err := scenario.Explorer{
		Run: s.trial, Kinds: kindsOf, Attempts: 3, Parallel: true,
		Points: func(p *fault.Process) []fault.Point {
			all := p.Order()
			change := slices.IndexFunc(all, func(p fault.Point) bool {
				return strings.Contains(p.Request, " cloud/") && !strings.HasPrefix(p.Request, http.MethodGet)
			})
			if os.Getenv(variableAll) == "" && change >= 0 {
				return all[change : change+1]
			}
			return all
		},
	}.Explore()
	s.t.Logf("%d points, %d faults tried, %d not reached, %d need a person after a kill of the provider, %s",
		len(order), s.tried, len(missed), s.waiting, time.Since(started).Round(time.Second))
	for _, trial := range missed {
		s.t.Logf("%s was not reached again", trial)
	}
	if err != nil || s.tried < 3*len(order) || len(order) == 0 {
		s.t.Errorf("too little was tried: %v", err)
	}
}

// trial runs the operation, in a namespace and a project of its own, and reports what is wrong.
func (s *stage) trial(trial scenario.Trial) (good bool, err error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	a := &attempt{stage: s, points: trial.Process}
	if err := a.prepare(); err != nil {
		return false, errors.Join(err, a.clear())
	}
	wrong, err := a.run(s.t.Context())
	if err := errors.Join(err, a.clear()); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if trial.Process.Reached() {
		s.tried++
	}
	if a.waits {
		s.waiting++
	}
	if wrong != nil {
		s.t.Errorf("%s: %v\n  without a fault: %s\n  this time:       %s", trial, wrong, fault.Numbered(trial.Order), trial.Process)
	}
	return wrong == nil, nil
}

// An attempt is one run of an operation.
type attempt struct {
	*stage
	points   *fault.Process
	env      *controlplanetest.Env
	project  *inspect.Project
	api, out *gate
	settings settings
	object   *unstructured.Managed
	setting  string
	waits    bool // for a person
}

// prepare makes what the operation begins with.
func (a *attempt) prepare() (err error) {
	a.env, a.setting = controlplanetest.New(a.t), a.kind.settings[0]
	key, err := a.cloud.NewKey(a.t.Context(), a.env.Namespace)
	if err != nil {
		return err
	}
	if a.project, err = inspect.NewProject(a.cloud.URL(), a.env.Namespace, key); err != nil {
		return err
	}
	access, err := rest.TransportFor(a.env.Config)
	if err != nil {
		return err
	}
	if a.api, err = newGate(a.env.Config.Host, true, access, apiPoint); err != nil {
		return err
	}
	if a.out, err = newGate(a.cloud.URL(), false, http.DefaultTransport, cloudPoint); err != nil {
		return err
	}
	dir := a.t.TempDir()
	a.settings = settings{API: a.api.server.URL, Provider: filepath.Join(dir, filepath.Base(a.program)), Notes: filepath.Join(dir, "notes"),
		Namespace: a.env.Namespace}
	secret := &corev1.Secret{StringData: map[string]string{"key": key}}
	secret.Namespace, secret.Name = a.env.Namespace, "key"
	config := a.declare("ProviderConfig", "default", map[string]any{"configuration": map[string]any{"endpoint": a.out.server.URL,
		"project": a.env.Namespace, "keySecretRef": map[string]any{"name": "key", "key": "key"}}})
	a.object = a.declare(a.kind.name, objectName, map[string]any{"forProvider": a.kind.forProvider,
		"providerConfigRef":          map[string]any{"kind": "ProviderConfig", "name": "default"},
		"writeConnectionSecretToRef": map[string]any{"name": "connection"}})
	return errors.Join(os.Symlink(a.program, a.settings.Provider), a.env.Client.Create(a.t.Context(), secret),
		a.env.Client.Create(a.t.Context(), config.GetUnstructured()))
}

func (a *attempt) declare(kind, name string, spec map[string]any) *unstructured.Managed {
	o := unstructured.New(schema.GroupVersionKind{Group: providerName + ".tf.m.bowline.dev", Version: kinds.Version, Kind: kind})
	o.SetNamespace(a.env.Namespace)
	o.SetName(name)
	o.Object["spec"] = spec
	return o
}

// run runs the operation, with the fault, and finishes it with other controllers if those have ended. wrong is what holds at the end and
// must not; err is a failure of the test itself.
func (a *attempt) run(ctx context.Context) (wrong, err error) {
	if err := a.given(ctx); err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	wrong, err = a.with(ctx, a.points, a.then)
	if err == nil && a.points.Reached() && !a.providerKilled() {
		wrong, err = a.with(ctx, &fault.Process{}, a.then)
	}
	if err != nil || wrong != nil {
		return wrong, err
	}
	return errors.Join(a.check(ctx), a.left(ctx)), nil
}

// given creates the object and, unless that is the operation, waits until it is ready and begins the operation.
func (a *attempt) given(ctx context.Context) error {
	if err := a.env.Client.Create(ctx, a.object.GetUnstructured()); err != nil || a.operation == create {
		return err
	}
	if wrong, err := a.with(ctx, &fault.Process{}, a.settled); wrong != nil || err != nil {
		return errors.Join(wrong, err)
	}
	if a.operation == remove {
		return a.env.Client.Delete(ctx, a.object.GetUnstructured())
	}
	a.setting = a.kind.settings[1]
	return a.env.Client.Patch(ctx, a.object.GetUnstructured(), client.RawPatch(types.MergePatchType, []byte(a.kind.change)))
}

// with runs controllers until a fault ends them, or until then returns nil and they are idle. wrong is why that takes too long.
func (a *attempt) with(ctx context.Context, points *fault.Process, then func(context.Context) error) (wrong, err error) {
	l, err := begin(ctx, a.settings, points, a.api, a.out)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	wrong = testkit.Poll(limited, func() error {
		if l.over() {
			return nil
		}
		if !l.ready.Load() {
			return errors.New("the controllers do not start")
		}
		if err := then(limited); err != nil || a.waits {
			return err
		}
		return points.Quiet(5 * pollInterval)
	})
	if wrong != nil {
		wrong = fmt.Errorf("after %s: %w", patience, wrong)
	}
	return wrong, errors.Join(l.end(), context.Cause(ctx))
}

// then returns nil when the operation has its result.
func (a *attempt) then(ctx context.Context) error {
	if a.operation == remove {
		return errors.Join(testkit.Gone(a.env.Client, a.object)(ctx), a.noted())
	}
	return a.settled(ctx)
}

// settled returns nil if the object is ready, and the cloud has what it declares. It may need a person only where the provider was killed
// while it created what cannot be found.
func (a *attempt) settled(ctx context.Context) error {
	err := testkit.Settled(a.env.Client, a.object)(ctx)
	reason := xpv1.FailureOf(a.object).Reason
	a.waits = err != nil && failure.IsLeak(reason) && a.operation == create && a.providerKilled() && !a.kind.found
	switch {
	case a.waits:
		return inspect.Reported(ctx, a.env.Client, a.object)
	case err != nil:
		return err
	}
	all, err := a.project.All(ctx)
	if err == nil && (len(all) != 1 || all[0].Name != meta.GetExternalName(a.object) || all[0].Setting != a.setting) {
		err = fmt.Errorf("the cloud has %v, want %s with %s", all, meta.GetExternalName(a.object), a.setting)
	}
	return errors.Join(err, a.noted())
}

func (a *attempt) providerKilled() bool {
	return a.points.Reached() && (a.points.Kind == providerBefore || a.points.Kind == providerAfter)
}

// noted returns an error while there is a note of a change.
func (a *attempt) noted() error {
	notes, err := filepath.Glob(filepath.Join(a.settings.Notes, "*.change"))
	if err == nil && len(notes) > 0 {
		err = fmt.Errorf("there are the notes %v", notes)
	}
	return err
}

// check returns what is wrong when the controllers have ended.
func (a *attempt) check(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, patience) // a server may be about to restart
	defer cancel()
	all, err := a.project.All(ctx)
	if err == nil && (len(all) > 1 || len(all) > 0 && a.operation == remove) {
		err = fmt.Errorf("in the cloud there are %v", all)
	}
	if err != nil || a.operation == remove || a.waits || a.kind.opens == nil {
		return err
	}
	return testkit.Poll(limited, func() error {
		secret := &corev1.Secret{}
		if err := a.env.Client.Get(limited, client.ObjectKey{Namespace: a.env.Namespace, Name: "connection"}, secret); err != nil {
			return err
		}
		data := maps.Clone(secret.Data)
		data[xpv1.ResourceCredentialsSecretEndpointKey] = data["hostname"]
		return a.kind.opens(limited, data)
	})
}

// left returns an error while a process of the provider or of its journal runs.
func (a *attempt) left(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return testkit.Poll(limited, func() error {
		if pids := append(running(a.settings.Provider, 0), running(a.settings.Provider, 1)...); len(pids) > 0 {
			return fmt.Errorf("the processes %v of the provider run", pids)
		}
		return nil
	})
}

// clear removes the object and what it has in the cloud, whatever their state.
func (a *attempt) clear() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.t.Context()), patience)
	defer cancel()
	for _, g := range []*gate{a.api, a.out} {
		if g != nil {
			defer g.server.Close()
		}
	}
	if a.object == nil {
		return nil
	}
	return errors.Join(testkit.Remove(ctx, a.env.Client, a.object.GetUnstructured()), testkit.Poll(ctx, func() error {
		left, err := a.project.All(ctx)
		for _, e := range left {
			err = errors.Join(err, e.Delete(ctx))
		}
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("in the cloud there are %v", left)
		}
		return err
	}))
}
