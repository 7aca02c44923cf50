// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// concurrency is how many resources are reconciled at the same time: they wait for clusters, each of which keeps a few at most.
const concurrency = 64

// index is the index of resources in the cache. Its values are a prefix and a name.
const (
	index            = ControllerName
	indexTarget      = "target/" // that it is for, or has objects in
	indexSecret      = "secret/" // that it copies
	indexDefines     = "defines/"
	indexApplication = "application/" // by UID
	indexNeeds       = "needs/"
)

func valuesOf(o client.Object) (values []string) {
	resource, ok := o.(*workloadv1alpha1.KubernetesApplicationResource)
	if !ok {
		return nil
	}
	targets := map[string]bool{}
	if ref := resource.Spec.TargetReference; ref != nil {
		targets[ref.Name] = true
	}
	for _, one := range resource.Status.Inventory {
		targets[one.Target] = true
	}
	for name := range targets {
		values = append(values, indexTarget+name)
	}
	if owner := metav1.GetControllerOf(resource); owner != nil {
		values = append(values, indexApplication+string(owner.UID))
	}
	for _, ref := range resource.Spec.Secrets {
		values = append(values, indexSecret+ref.Name)
	}
	if o, err := read(resource); err == nil {
		if defined := defines(o); defined != "" {
			values = append(values, indexDefines+defined)
		}
		for _, need := range needs(o) {
			values = append(values, indexNeeds+need)
		}
	}
	return values
}

// SetupWithManager adds the controller, which watches resources, targets and, through what reads them, Secrets.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	of := &workloadv1alpha1.KubernetesApplicationResource{}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), of, index, valuesOf); err != nil {
		return fmt.Errorf("indexing resources of applications: %w", err)
	}
	r.isCached = true
	r.secrets.OnChange(r.wakeSecret)
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		r.Close()
		return nil
	})); err != nil {
		return err
	}
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		For(of, builder.WithPredicates(ownChanges())).
		Watches(of, r.siblingChanges()).
		Watches(&workloadv1alpha1.KubernetesApplication{}, handler.EnqueueRequestsFromMapFunc(r.onPause), builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Watches(&workloadv1alpha1.KubernetesTarget{}, r.targetChanges()).
		WatchesRawSource(source.Func(r.queue.begin)).
		WithOptions(queue.Options(mgr, ControllerName, concurrency, flow.ConflictDelay, pollInterval)).
		Complete(r)
}

// wakeups is the queue of the controller, once it runs.
type wakeups struct {
	mu     sync.Mutex
	queue  queue.Queue
	limits sync.Map // *rate.Limiter by the name of the resource
}

func (w *wakeups) begin(_ context.Context, q queue.Queue) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
	return nil
}

func (w *wakeups) add(who types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.Add(reconcile.Request{NamespacedName: who})
	}
}

// Changes of an object in its cluster wake its resource at once, unless there are many: each may cost a write of the status.
const (
	wakesPerSecond = 1
	wakesAtOnce    = 10
)

// addLimited enqueues a resource about which a cluster reported a change.
func (w *wakeups) addLimited(name types.NamespacedName) {
	limit, _ := w.limits.LoadOrStore(name, rate.NewLimiter(wakesPerSecond, wakesAtOnce))
	due := limit.(*rate.Limiter).Reserve()
	delay := due.Delay()
	if delay > time.Second/wakesPerSecond { // the queue keeps the one that is due sooner, unless it was made due at once and is over
		due.Cancel()
		delay = time.Second / wakesPerSecond
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.AddAfter(reconcile.Request{NamespacedName: name}, delay)
	}
}

// indexed returns the resources of a namespace with a value in the index, which must not be changed.
func (r *Reconciler) indexed(ctx context.Context, namespace, value string) (found []*workloadv1alpha1.KubernetesApplicationResource, err error) {
	all, options := &workloadv1alpha1.KubernetesApplicationResourceList{}, []client.ListOption{client.InNamespace(namespace), client.UnsafeDisableDeepCopy}
	if r.isCached {
		options = append(options, client.MatchingFields{index: value})
	}
	err = r.client.List(ctx, all, options...)
	for i := range all.Items {
		if o := &all.Items[i]; r.isCached || slices.Contains(valuesOf(o), value) {
			found = append(found, o)
		}
	}
	return found, err
}

// with returns requests for the resources of a namespace with a value in the index.
func (r *Reconciler) with(ctx context.Context, namespace, value string) (requests []reconcile.Request) {
	all, err := r.indexed(ctx, namespace, value)
	if err != nil {
		r.log.Error(err, "Cannot list the resources of applications", "index", value)
	}
	for _, o := range all {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	return requests
}

// wakeTarget wakes the resources with objects in the cluster of a target.
func (r *Reconciler) wakeTarget(target types.NamespacedName) {
	go func() { // calls of clusters report it, and must not wait for the cache
		for _, request := range r.with(context.Background(), target.Namespace, indexTarget+target.Name) {
			r.queue.add(request.NamespacedName)
		}
	}()
}

// wakeSecret wakes the resources that copy a Secret, and those whose target has it.
func (r *Reconciler) wakeSecret(secret types.NamespacedName) {
	ctx := context.Background()
	for _, request := range r.with(ctx, secret.Namespace, indexSecret+secret.Name) {
		r.queue.add(request.NamespacedName)
	}
	targets := &workloadv1alpha1.KubernetesTargetList{}
	if err := r.client.List(ctx, targets, client.InNamespace(secret.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		r.log.Error(err, "Cannot list targets", "namespace", secret.Namespace)
	}
	for _, target := range targets.Items {
		if ref := target.Spec.WriteConnectionSecretToReference; ref != nil && ref.Name == secret.Name {
			r.wakeTarget(client.ObjectKeyFromObject(&target))
		}
	}
}

// targetChanges wakes the resources of a target when it changes in more than its conditions' messages.
func (r *Reconciler) targetChanges() handler.EventHandler {
	wake := func(ctx context.Context, o client.Object, q queue.Queue) {
		for _, request := range r.with(ctx, o.GetNamespace(), indexTarget+o.GetName()) {
			q.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e ctrlevent.CreateEvent, q queue.Queue) { wake(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e ctrlevent.UpdateEvent, q queue.Queue) {
			before, after := e.ObjectOld.(*workloadv1alpha1.KubernetesTarget), e.ObjectNew.(*workloadv1alpha1.KubernetesTarget)
			if before.Generation != after.Generation || meta.WasDeleted(before) != meta.WasDeleted(after) ||
				before.GetCondition(xpv1.TypeReady).Reason != after.GetCondition(xpv1.TypeReady).Reason ||
				xpv1.FailureOf(before).Reason != xpv1.FailureOf(after).Reason {
				wake(ctx, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e ctrlevent.DeleteEvent, q queue.Queue) {
			r.clusters.Forget(client.ObjectKeyFromObject(e.Object))
			wake(ctx, e.Object, q)
		},
	}
}

// onPause returns requests for the resources of an application that may be paused or resumed.
func (r *Reconciler) onPause(ctx context.Context, app client.Object) (requests []reconcile.Request) {
	return r.with(ctx, app.GetNamespace(), indexApplication+string(app.GetUID()))
}

// ownChanges accepts what others change about a resource, not its status.
func ownChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		a, b := e.ObjectOld, e.ObjectNew
		return a.GetGeneration() != b.GetGeneration() || meta.WasDeleted(a) != meta.WasDeleted(b) || !slices.Equal(a.GetFinalizers(), b.GetFinalizers()) ||
			!maps.Equal(a.GetAnnotations(), b.GetAnnotations()) || !equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
	}}
}

// siblingChanges wakes the objects that need one which works from now on.
func (r *Reconciler) siblingChanges() handler.EventHandler {
	works := func(o client.Object) bool { return isCurrent(o.(*workloadv1alpha1.KubernetesApplicationResource)) }
	return handler.Funcs{UpdateFunc: func(ctx context.Context, e ctrlevent.UpdateEvent, q queue.Queue) {
		if works(e.ObjectOld) || !works(e.ObjectNew) {
			return
		}
		for _, value := range valuesOf(e.ObjectNew) {
			if name, defines := strings.CutPrefix(value, indexDefines); defines {
				for _, request := range r.with(ctx, e.ObjectNew.GetNamespace(), indexNeeds+name) {
					q.Add(request)
				}
			}
		}
	}}
}
