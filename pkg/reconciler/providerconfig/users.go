// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A counter counts the users of the ProviderConfigs of one kind from watch events. The counts are exact: a watch reports each
// object once when it is added, each change with the object before and after it, and each deletion once; and a controller
// starts only when its watches have reported all objects.
type counter struct {
	kind string

	mu     sync.Mutex
	counts map[types.NamespacedName]int64
}

func (c *counter) count(config types.NamespacedName) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[config]
}

// handler counts users and enqueues the ProviderConfigs whose counts changed.
func (c *counter) handler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	change := func(user client.Object, n int64, q queue) {
		kind, config := configOf(user)
		if kind != c.kind {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.counts[config] += n; c.counts[config] == 0 {
			delete(c.counts, config)
		}
		q.Add(reconcile.Request{NamespacedName: config})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { change(e.Object, 1, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { change(e.Object, -1, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			oldKind, oldConfig := configOf(e.ObjectOld)
			newKind, newConfig := configOf(e.ObjectNew)
			if oldKind != newKind || oldConfig != newConfig {
				change(e.ObjectOld, -1, q)
				change(e.ObjectNew, 1, q)
			}
		},
	}
}

// configOf returns the ProviderConfig that an object uses, also one without a Go type (N2).
func configOf(user client.Object) (kind string, config types.NamespacedName) {
	if u, untyped := user.(*kube.Unstructured); untyped {
		user = unstructured.Wrap(u)
	}
	kind, config.Name = resource.ProviderConfigKind(user), resource.ProviderConfigName(user)
	if kind == xpv1.ProviderConfigKind {
		config.Namespace = user.GetNamespace()
	}
	return kind, config
}

// SetupWithManager adds a controller to the manager that watches ProviderConfigs, their users and, with WithSecrets, their
// Secrets. Its name is <kind>.<group> in lower case.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	name := strings.ToLower(r.kind.GroupKind().String())
	b := builder.ControllerManagedBy(mgr).
		Named(name).
		For(unstructured.Plain(r.newConfig())).
		WithOptions(queue.Options(mgr, name, 0, flow.ConflictDelay, time.Minute))
	for _, kind := range r.users {
		b = b.Watches(unstructured.Example(mgr.GetScheme(), kind), r.counter.handler())
	}
	if r.secrets != nil {
		b = b.WatchesRawSource(source.Func(r.watchSecrets))
	}
	if r.clients != nil {
		b = b.WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.clients.OnChange(r.kind, func(config types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: config}) })
			return nil
		}))
	}
	var err error
	r.cache = mgr.GetCache()
	r.controller, err = b.Build(r)
	return errors.Join(err, mgr.Add(manager.RunnableFunc(r.begin)))
}

// begin is called once the process leads. It retries, each hour at last, until the Secrets of ProviderConfigs that were removed meanwhile
// are released: admission may refuse that for good.
func (r *Reconciler) begin(ctx context.Context) error {
	backoff := wait.Backoff{Duration: time.Minute, Factor: 2, Steps: 10, Cap: time.Hour}
	_ = backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (done bool, _ error) {
		err := r.releaseRemoved(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Info("Secrets of configurations that were removed by force may stay protected", "error", err.Error())
		}
		return err == nil, nil
	})
	return nil
}

// watchSecrets enqueues the ProviderConfigs whose Secret changed.
func (r *Reconciler) watchSecrets(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.secrets.OnChange(func(secret types.NamespacedName) {
		configs, err := credentials.Users(ctx, r.client, r.kind, secret)
		if err != nil {
			r.log.Error(err, "Cannot find the configurations that refer to a Secret", "secret", secret)
		}
		for _, config := range configs {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(config)})
		}
	})
	return nil
}

const (
	pageSize = 500 // objects per list request
	maxNamed = 5   // users named in a message
)

var definitions = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// usage is the users of a ProviderConfig.
type usage struct {
	total int
	names []string // of the first few
}

// String lists the users for a message.
func (u usage) String() string {
	objects := "objects"
	if u.total == 1 {
		objects = "object"
	}
	list := strings.Join(u.names, ", ")
	if more := u.total - len(u.names); more > 0 {
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	return fmt.Sprintf("%d %s: %s", u.total, objects, list)
}

// findUsers lists all users of a ProviderConfig past the caches (N29). After an error there may be users that it did not find.
func (r *Reconciler) findUsers(ctx context.Context, config types.NamespacedName) (usage, error) {
	kinds, err := r.userKinds(ctx)
	if err != nil {
		return usage{}, err
	}
	var found usage
	for _, kind := range kinds {
		err := r.each(ctx, kind, func(u *kube.Unstructured) error {
			if k, c := configOf(u); k != r.kind.Kind || c != config {
				return nil
			}
			if found.total++; found.total <= maxNamed {
				found.names = append(found.names, kind.Kind+" "+strings.TrimPrefix(client.ObjectKeyFromObject(u).String(), "/"))
			}
			return nil
		})
		if err != nil {
			return usage{}, fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
		}
	}
	return found, nil
}

// userKinds returns all kinds whose objects use ProviderConfigs of this group: those of WithUsers and those whose definitions
// have the label.
func (r *Reconciler) userKinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	r.growing.Lock()
	kinds := slices.Clone(r.users)
	r.growing.Unlock()
	err := r.each(ctx, definitions, func(crd *kube.Unstructured) error {
		kind, err := servedKind(crd)
		if err != nil {
			return fmt.Errorf("definition %s: %w", crd.GetName(), err)
		}
		if !slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind.GroupKind() }) {
			kinds = append(kinds, kind)
		}
		return nil
	}, client.MatchingLabels{LabelProviderConfig: r.kind.Group})
	if err != nil {
		return nil, fmt.Errorf("listing the kinds that use configurations of group %s: %w", r.kind.Group, err)
	}
	return kinds, nil
}

// servedKind returns the kind of a definition in a served version.
func servedKind(crd *kube.Unstructured) (schema.GroupVersionKind, error) {
	group, _, _ := kube.NestedString(crd.Object, "spec", "group")
	kind, _, _ := kube.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := kube.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); version["served"] == true && name != "" {
			return schema.GroupVersionKind{Group: group, Version: name, Kind: kind}, nil
		}
	}
	return schema.GroupVersionKind{}, errors.New("no version is served, so its objects cannot be listed")
}

// each calls visit with every object of a kind, page by page.
func (r *Reconciler) each(ctx context.Context, kind schema.GroupVersionKind, visit func(*kube.Unstructured) error,
	o ...client.ListOption) error {
	list := &kube.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		options := append([]client.ListOption{client.Limit(pageSize), client.Continue(list.GetContinue())}, o...)
		if err := r.live.List(ctx, list, options...); err != nil {
			return err
		}
		for i := range list.Items {
			if err := visit(&list.Items[i]); err != nil {
				return err
			}
		}
		if list.GetContinue() == "" {
			return nil
		}
	}
}
