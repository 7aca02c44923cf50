// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bridge measures objects of Terraform providers: how soon one is Ready, what many take in memory, and what polls write.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/bench/report"
	"github.com/bowline-dev/bowline/test/bench/usage"
)

const (
	// SystemNamespace has the states.
	SystemNamespace = "bowline-system"
	// MostObjects is the number that the limits of memory are for.
	MostObjects = 500
	// MostPoll is how often each is polled at least, so that many polls are measured.
	MostPoll = 10 * time.Second

	ownCall = time.Second // how long the provider takes to create the first object
)

// A Run measures the kinds of one Terraform provider, whose external system is a folder.
type Run struct {
	Report              *report.Report
	Phase               string // of the figures
	Program             string // reef or shoal
	Folder              string // which is made
	Namespace           string // of connection Secrets
	Objects             int
	Settle, Rest, Poll  time.Duration // how long to wait before, how long to measure polls, and how long between polls of an object
	Client              client.Client
	Controllers, Server int // processes
	// Requests are those of the controllers so far, by verb and resource.
	Requests func(context.Context) (map[string]int, error)
}

func name(i int) string { return fmt.Sprintf("item-%05d", i) }

// Prepare makes what the controllers need before the first provider.
func Prepare(ctx context.Context, c client.Client) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "bowline-terraform"}} // to which the controllers add the groups of kinds
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}}
	return errors.Join(c.Create(ctx, role), client.IgnoreAlreadyExists(c.Create(ctx, space)))
}

// Measure adds the figures to the report.
func (t *Run) Measure(ctx context.Context) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	base, err := usage.Read(t.Controllers)
	server, serverErr := usage.Read(t.Server)
	if err := errors.Join(err, serverErr, t.declare(ctx)); err != nil {
		return err
	}
	if err := t.one(ctx); err != nil {
		return err
	}
	bare, err := t.provider()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := t.create(ctx, 1, t.Objects); err != nil {
		return err
	}
	t.add("objects", float64(t.Objects))
	t.add("seconds from create to all Ready", time.Since(begin).Seconds())
	resident, err := t.polls(ctx)
	if err != nil {
		return err
	}
	used, err := usage.Read(t.Controllers)
	serverUsed, serverErr := usage.Read(t.Server)
	t.add(report.AboveBase, used.Resident-base.Resident)
	t.add("MB resident of the API server above that without a TerraformProvider", serverUsed.Resident-server.Resident)
	t.add("MB resident of the provider, bare", bare.Resident)
	t.add(report.AboveBare, 100*(resident/bare.Resident-1))
	return errors.Join(err, serverErr)
}

func (t *Run) settle(ctx context.Context) error { return sleep(ctx, t.Settle) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (t *Run) add(figure string, value float64) { t.Report.Add(t.Phase, figure, value) }

// declare makes the provider's type a kind, with a configuration.
func (t *Run) declare(ctx context.Context) error {
	provider := t.object("tf.bowline.dev", "TerraformProvider", t.Program, map[string]any{
		"source": "bowline-dev/" + t.Program, "version": "1.0.0", "types": []any{t.Program + "_berth"}})
	if err := errors.Join(os.Mkdir(t.Folder, 0o700), t.Client.Create(ctx, provider)); err != nil {
		return err
	}
	if err := t.ready(ctx, provider); err != nil {
		return err
	}
	return t.Client.Create(ctx, t.object(t.group(), "ProviderConfig", "default", map[string]any{"configuration": map[string]any{"folder": t.Folder}}))
}

func (t *Run) group() string { return t.Program + ".tf.bowline.dev" }

func (t *Run) object(group, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1alpha1", "kind": kind,
		"metadata": map[string]any{"name": name}, "spec": spec}}
}

// ready waits until an object is Ready.
func (t *Run) ready(ctx context.Context, o *unstructured.Unstructured) error {
	return testkit.Poll(ctx, func() error {
		if err := t.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		return isReady(o)
	})
}

func isReady(o *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s is not Ready: %v", o.GetName(), conditions)
}

func (t *Run) berth(i int) *unstructured.Unstructured {
	return t.object(t.group(), "Berth", name(i), map[string]any{"forProvider": map[string]any{"name": name(i), "size": int64(2)},
		"writeConnectionSecretToRef": map[string]any{"namespace": t.Namespace, "name": name(i)}})
}

// one creates an object, and measures how long it takes beyond the provider's own call.
func (t *Run) one(ctx context.Context) error {
	faults := fmt.Sprintf(`[{"verb": "create", "do": "delay", "delay": %q, "times": 1}]`, ownCall)
	if err := os.WriteFile(filepath.Join(t.Folder, "faults.json"), []byte(faults), 0o600); err != nil {
		return err
	}
	begin := time.Now()
	if err := t.create(ctx, 0, 1); err != nil {
		return err
	}
	t.add(report.AboveCall, (time.Since(begin) - ownCall).Seconds())
	return nil
}

// create creates objects, and waits until they are Ready.
func (t *Run) create(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		if err := t.Client.Create(ctx, t.berth(i)); err != nil {
			return err
		}
	}
	for i := from; i < to; i++ {
		if err := t.ready(ctx, t.berth(i)); err != nil {
			return err
		}
	}
	return nil
}

// polls measures the requests of the controllers while they poll, and counts the processes. It returns the memory of the provider, on average.
func (t *Run) polls(ctx context.Context) (resident float64, err error) {
	if err := t.settle(ctx); err != nil {
		return 0, err
	}
	before, err := t.Requests(ctx)
	reads, readsErr := t.reads()
	if err := errors.Join(err, readsErr); err != nil {
		return 0, err
	}
	looks := 0.0
	for end := time.Now().Add(max(t.Rest, 2*t.Poll)); time.Now().Before(end); {
		running, err := t.processes() // none or two while one replaces another
		if err := errors.Join(err, sleep(ctx, time.Second/4)); err != nil {
			return 0, err
		}
		for _, p := range running {
			if used, err := usage.Read(p.PID); err == nil { // else it has just ended
				resident += used.Resident
			}
		}
		looks += min(float64(len(running)), 1)
	}
	after, err := t.Requests(ctx)
	last, readsErr := t.reads()
	writes := 0
	for _, what := range slices.Sorted(maps.Keys(after)) {
		switch verb, resource, _ := strings.Cut(what, " "); {
		case verb == "get", verb == "list", verb == "watch", resource == "leases":
		default:
			writes += after[what] - before[what]
		}
	}
	running, processErr := t.processes()
	t.add("polls", float64(last-reads))
	t.add(report.WritesOfPolls, float64(writes))
	t.add("processes of the provider", float64(len(running)))
	return resident / looks, errors.Join(err, readsErr, processErr)
}

// reads counts the reads of the external system so far.
func (t *Run) reads() (int, error) {
	content, err := os.ReadFile(filepath.Join(t.Folder, "calls.log"))
	return strings.Count(string(content), " read "), err
}

// processes are those of the provider.
func (t *Run) processes() (running []procfs.Proc, err error) {
	all, err := procfs.AllProcs()
	for _, p := range all {
		words, gone := p.CmdLine()
		if gone == nil && len(words) > 0 && strings.HasPrefix(filepath.Base(words[0]), "terraform-provider-"+t.Program+"_") && t.belongs(p) {
			running = append(running, p)
		}
	}
	return running, err
}

// belongs is true for a process that descends from the controllers.
func (t *Run) belongs(p procfs.Proc) bool {
	for p.PID > 1 {
		stat, err := p.Stat()
		if err != nil {
			return false
		}
		if stat.PPID == t.Controllers {
			return true
		}
		if p, err = procfs.NewProc(stat.PPID); err != nil {
			return false
		}
	}
	return false
}

// provider is what the provider's process uses.
func (t *Run) provider() (usage.Usage, error) {
	running, err := t.processes()
	if err != nil || len(running) == 0 {
		return usage.Usage{}, errors.Join(fmt.Errorf("%d processes of %s run", len(running), t.Program), err)
	}
	return usage.Read(running[0].PID)
}
