// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/discovery"
)

// groups are the built-in groups; custom resource definitions and API services bring their own.
func groups() []schema.GroupVersion {
	return []schema.GroupVersion{
		corev1.SchemeGroupVersion,
		admissionregistrationv1.SchemeGroupVersion,
		authenticationv1.SchemeGroupVersion,
		authorizationv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		eventsv1.SchemeGroupVersion,
		rbacv1.SchemeGroupVersion,
	}
}

// Served enables whole groups, except admission policies that mutate and what only pods and nodes need.
func Served() *serverstorage.ResourceConfig {
	c := serverstorage.NewResourceConfig()
	c.EnableVersions(groups()...)
	for _, name := range []string{
		"pods", "services", "persistentvolumeclaims", "replicationcontrollers", "nodes", "endpoints", "limitranges",
	} {
		c.DisableResources(corev1.SchemeGroupVersion.WithResource(name))
	}
	for _, name := range []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"} {
		c.DisableResources(admissionregistrationv1.SchemeGroupVersion.WithResource(name))
	}
	return c
}

// isCustom reports whether a group is not one of Kubernetes' own, of which the server has caches anyway.
func isCustom(group string) bool {
	if group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" {
		return false
	}
	return !slices.ContainsFunc(groups(), func(gv schema.GroupVersion) bool { return gv.Group == group })
}

// Used knows which custom kinds have, or ever had, objects. The garbage collector and the controllers of this process watch only these,
// since a watch takes over a megabyte. As an admission plugin it sees the first object of a kind before that is stored.
type Used struct {
	count func(ctx context.Context, kind schema.GroupResource) (int64, error)

	changed signal   // set when a kind gets its first object
	kinds   sync.Map // of schema.GroupResource to *use
}

// A use of a kind has a channel that is closed when the kind has an object.
type use struct {
	began chan struct{}
	begin func() // may be repeated
}

// NewUsed returns an empty set that counts the objects of unknown kinds by count.
func NewUsed(count func(context.Context, schema.GroupResource) (int64, error)) *Used {
	return &Used{count: count, changed: newSignal()}
}

func (k *Used) use(kind schema.GroupResource) *use {
	if known, ok := k.kinds.Load(kind); ok {
		return known.(*use)
	}
	began := make(chan struct{})
	known, _ := k.kinds.LoadOrStore(kind, &use{began: began, begin: sync.OnceFunc(func() { close(began) })})
	return known.(*use)
}

// Handles reports whether the plugin admits an operation.
func (k *Used) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit records the kind and never refuses.
func (k *Used) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	kind := a.GetResource().GroupResource()
	if a.GetSubresource() != "" || !isCustom(kind.Group) {
		return nil
	}
	use := k.use(kind)
	select {
	case <-use.began:
	default:
		use.begin()
		k.changed.set()
	}
	return nil
}

// Has reports whether a kind has objects. It counts those of a kind that it has not seen.
func (k *Used) Has(ctx context.Context, kind schema.GroupResource) bool {
	select {
	case <-k.Begins(ctx, kind):
		return true
	default:
		return false
	}
}

// Begins returns a channel that is closed once a kind has objects, before the first one is stored.
func (k *Used) Begins(ctx context.Context, kind schema.GroupResource) <-chan struct{} {
	use := k.use(kind)
	select {
	case <-use.began:
		return use.began
	default:
	}
	if isCustom(kind.Group) {
		if n, err := k.count(ctx, kind); err == nil && n == 0 {
			return use.began
		}
	}
	use.begin() // in doubt the kind is watched
	return use.began
}

// A signal is set until the next wait, however often it is set. A new one is set.
type signal chan struct{}

func newSignal() signal {
	s := make(signal, 1)
	s.set()
	return s
}

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// wait returns when the signal is set, at the latest after a timeout or when ctx ends.
func (s signal) wait(ctx context.Context, timeout time.Duration) {
	select {
	case <-s:
	case <-time.After(timeout):
	case <-ctx.Done():
	}
}

const discoveryResync = 5 * time.Minute // without a signal

// discoverer is discovery for a controller that polls it: it blocks until kinds may have changed, and returns the wanted ones.
type discoverer struct {
	discovery.DiscoveryInterface
	ctx     context.Context // of the controller; the interface has no room for one
	changed signal
	wanted  func(schema.GroupResource) bool
}

// ServerPreferredResources is for the garbage collector.
func (d *discoverer) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return d.discover(d.DiscoveryInterface.ServerPreferredResources)
}

// ServerPreferredNamespacedResources is what the quota controller calls.
func (d *discoverer) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return d.discover(d.DiscoveryInterface.ServerPreferredNamespacedResources)
}

// discover sends no request to a server that is about to stop, whose answer would make the client retry after a second.
func (d *discoverer) discover(discover func() ([]*metav1.APIResourceList, error)) ([]*metav1.APIResourceList, error) {
	d.changed.wait(d.ctx, discoveryResync)
	if d.ctx.Err() != nil {
		return nil, d.ctx.Err()
	}
	lists, err := discover()
	return filter(lists, d.wanted), err
}

func filter(lists []*metav1.APIResourceList, wanted func(schema.GroupResource) bool) []*metav1.APIResourceList {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // the caller reports it
		}
		list.APIResources = slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool {
			return strings.Contains(r.Name, "/") || !wanted(schema.GroupResource{Group: gv.Group, Resource: r.Name})
		})
	}
	return lists
}

// addServed adds the namespaced custom kinds that discovery does not list, although their definitions are served: discovery follows the
// definitions a moment later, and objects may exist before.
func addServed(lists []*metav1.APIResourceList, definitions []*apiextensionsv1.CustomResourceDefinition) []*metav1.APIResourceList {
	listed := map[schema.GroupResource]bool{}
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion) // the caller reports an error
		for i := range list.APIResources {
			listed[schema.GroupResource{Group: gv.Group, Resource: list.APIResources[i].Name}] = true
		}
	}
	for _, d := range definitions {
		version, names := servedVersion(d), d.Spec.Names
		if version == "" || d.Spec.Scope != apiextensionsv1.NamespaceScoped || listed[schema.GroupResource{Group: d.Spec.Group, Resource: names.Plural}] {
			continue
		}
		lists = append(lists, &metav1.APIResourceList{
			GroupVersion: d.Spec.Group + "/" + version,
			APIResources: []metav1.APIResource{
				{Name: names.Plural, Kind: names.Kind, Namespaced: true, Verbs: metav1.Verbs{"delete", "deletecollection", "list"}},
			},
		})
	}
	return lists
}

// servedVersion returns a version in which the server serves a definition, if possible the stored one; it is empty if there is none.
func servedVersion(d *apiextensionsv1.CustomResourceDefinition) string {
	if !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted) && !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
		return ""
	}
	served := ""
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Served && (served == "" || v.Storage) {
			served = v.Name
		}
	}
	return served
}

const mapperPause = time.Second // at least, between two discoveries because of unknown kinds

// freshMapper discovers kinds again when it does not know one. The garbage collector resets its mapper only when it begins to
// watch a kind, and it does not watch kinds without objects, of which the last may have owned something.
type freshMapper struct {
	meta.ResettableRESTMapper
	resets *rate.Limiter
}

// RESTMapping finds the kind of an owner for the collector.
func (m *freshMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.ResettableRESTMapper.RESTMapping(kind, versions...)
	if !meta.IsNoMatchError(err) || !m.resets.Allow() {
		return mapping, err
	}
	m.Reset()
	return m.ResettableRESTMapper.RESTMapping(kind, versions...)
}
