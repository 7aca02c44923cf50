// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	atOnce        = 16 // external resources that are observed
	progressEvery = 5 * time.Second
)

// A planner tells what the controllers of this program would do to external resources. It observes them as the controllers do each minute,
// and writes nothing.
type planner struct {
	kinds    map[schema.GroupKind]plannedKind
	progress io.Writer

	mu     sync.Mutex
	told   time.Time // of the last line of progress
	silent map[config]*silence
}

type plannedKind struct {
	version    schema.GroupVersion
	object     resource.Managed // an empty one
	reconciler *managed.Reconciler
}

// A config is a ProviderConfig as objects of a kind name it.
type config struct {
	definition, namespace, kind, name string
}

// A silence is why an external system could not be asked, and about how many objects.
type silence struct {
	why     error
	objects []string
}

// newPlanner returns a planner that reads objects until the context ends, which stop ends if that fails.
func newPlanner(ctx context.Context, stop context.CancelCauseFunc, cfg *rest.Config, progress io.Writer, providers []provider.Provider) (*planner, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering Kubernetes types: %w", err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: managed.CacheOptions(), NewCache: claim.NewCache,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing to read objects: %w", err)
	}
	p := &planner{kinds: map[schema.GroupKind]plannedKind{}, progress: progress, told: time.Now(), silent: map[config]*silence{}}
	for _, of := range providers {
		reconcilers, err := of.Reconcilers(mgr)
		if err != nil {
			return nil, err
		}
		for _, k := range of.Kinds {
			kind, err := apiutil.GVKForObject(k.Object, scheme)
			if err != nil {
				return nil, err
			}
			p.kinds[kind.GroupKind()] = plannedKind{kind.GroupVersion(), k.Object, reconcilers[kind.GroupKind()]}
		}
	}
	go func() { stop(mgr.Start(ctx)) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("reading objects: %w", context.Cause(ctx))
	}
	return p, nil
}

// decode returns an object as the controllers see it, false if none of them does.
func (p *planner) decode(kind schema.GroupKind, o *unstructured.Unstructured) (resource.Managed, bool) {
	if p == nil {
		return nil, false
	}
	of, ok := p.kinds[kind]
	if !ok || meta.WasDeleted(o) || meta.IsPaused(o) {
		return nil, false
	}
	o.SetAPIVersion(of.version.String())
	mg := of.object.DeepCopyObject().(resource.Managed)
	content, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(content, mg)
	}
	return mg, err == nil
}

// external compares the external resources of objects with what this program would make of them.
func (c *checker) external(ctx context.Context, definition string, kind schema.GroupKind, objects []resource.Managed) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, mg := range objects {
		work.Go(func() error {
			c.compare(ctx, definition, c.planner.kinds[kind].reconciler, mg)
			return context.Cause(ctx)
		})
	}
	return work.Wait()
}

// compare compares the external resource of one object. A system that did not answer is not asked again: each attempt may last.
func (c *checker) compare(ctx context.Context, definition string, r *managed.Reconciler, mg resource.Managed) {
	p, name := c.planner, nameOf(mg)
	of := config{definition, mg.GetNamespace(), resource.ProviderConfigKind(mg), resource.ProviderConfigName(mg)}
	if p.skips(of, name) {
		return
	}
	plan, err := r.Plan(ctx, mg)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil && failure.IsOutOfReach(failure.Of(err).Reason):
		if p.silent[of] == nil {
			p.silent[of] = &silence{why: err}
		}
		p.silent[of].objects = append(p.silent[of].objects, name)
		return
	case err != nil && mg.GetCondition(xpv1.TypeSynced).Status == corev1.ConditionFalse: // it fails with the version that runs, too
	case err != nil:
		c.found(Warning, ExternalResourceUnknown, definition, name, "it would fail: %v", err)
	case plan.Action != managed.PlanNothing:
		c.found(Warning, ExternalResourceChanged, definition, name, "the controllers of this version would %s the external resource%s",
			strings.ToLower(string(plan.Action)), fieldsOf(plan))
	case plan.Unsettled && mg.GetCondition(xpv1.TypeInSync).Status != corev1.ConditionFalse:
		c.found(Warning, ExternalResourceDiffers, definition, name, "the controllers of this version would report: %s", plan.Message)
	}
	c.report.Observed++
	if now := time.Now(); now.Sub(p.told) > progressEvery {
		p.told = now
		fmt.Fprintf(p.progress, "%d external resources observed ...\n", c.report.Observed)
	}
}

// skips tells whether the external system of a ProviderConfig did not answer before, and notes the object for that.
func (p *planner) skips(of config, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.silent[of]
	if s != nil {
		s.objects = append(s.objects, name)
	}
	return s != nil
}

// silences adds a finding for each external system that could not be asked.
func (c *checker) silences() {
	for of, s := range c.planner.silent {
		c.found(Warning, ExternalResourceUnknown, of.definition, slices.Min(s.objects),
			"%d objects were not compared with their external resources: %v", len(s.objects), s.why)
	}
}

// fieldsOf names the fields that a plan sets. Values are left out as in all findings.
func fieldsOf(p managed.Plan) string {
	var names []string
	for _, f := range p.Fields {
		names = append(names, f.Path)
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}
