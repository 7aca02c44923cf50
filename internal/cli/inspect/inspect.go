// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect reads objects of any kind for commands that explain them.
//
// Everything is read as one user. Kinds come from discovery, so that objects of any provider are found. An object that does not
// exist, or that this user may not read, is a result like any other (see Reading). Only the object that a person named must exist:
// otherwise the error of Find contains what to type instead.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/heartbeat"
	"github.com/bowline-dev/bowline/pkg/crd"
)

const (
	queriesPerSecond = 100 // for one person and a few dozen requests
	pageSize         = 500 // objects in one response
)

// An Opener returns the API server that flags name, and the default namespace there.
type Opener func(folder *datadir.Flag, access datadir.Access) (*Cluster, string, error)

// A Cluster is an API server as one user sees it.
type Cluster struct {
	Address string // of the API server
	client  dynamic.Interface
	kinds   []Kind
}

// Connect discovers the kinds of an API server.
func Connect(cfg *rest.Config) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = queriesPerSecond, queriesPerSecond
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(d)
	if apierrors.IsUnauthorized(err) {
		return nil, errors.New("the API server does not accept the credentials of the kubeconfig, which may have expired; ask your platform team " +
			"for new ones")
	}
	if err != nil {
		return nil, fmt.Errorf("discovering kinds: %w", err)
	}
	return &Cluster{Address: cfg.Host, client: c, kinds: kindsOf(groups)}, nil
}

// Presence is the result of reading an object.
type Presence string

// Results of reading an object.
const (
	Present    Presence = "present"
	Missing    Presence = "missing"            // no object has that name
	NoKind     Presence = "kind not installed" // the server does not have the kind
	NoAccess   Presence = "no access"          // this user may not read it, so it may or may not exist
	Unreadable Presence = "unreadable"         // the request failed
)

// A Reading is an object as one user can read it.
type Reading struct {
	Presence Presence
	Object   *unstructured.Unstructured // nil unless it is present
	Kind     Kind                       // zero if the server does not have it
	Problem  string                     // error of an unreadable object
}

// Get reads an object in the version that the server prefers.
func (c *Cluster) Get(ctx context.Context, of schema.GroupKind, key types.NamespacedName) Reading {
	kind, ok := c.Kind(of)
	if !ok {
		return Reading{Presence: NoKind}
	}
	if !kind.Namespaced {
		key.Namespace = ""
	}
	o, err := c.of(kind).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	r := Reading{Presence: Present, Object: o, Kind: kind}
	if err != nil {
		r.Object = nil
	}
	switch {
	case apierrors.IsNotFound(err):
		r.Presence = Missing
	case apierrors.IsForbidden(err):
		r.Presence = NoAccess
	case err != nil:
		r.Presence, r.Problem = Unreadable, err.Error()
	}
	return r
}

// Follow reads the object of a reference. A reference without a namespace uses the given one.
func (c *Cluster) Follow(ctx context.Context, ref corev1.ObjectReference, namespace string) Reading {
	key := types.NamespacedName{Namespace: cmp.Or(ref.Namespace, namespace), Name: ref.Name}
	return c.Get(ctx, ref.GroupVersionKind().GroupKind(), key)
}

// Secret reads a Secret. Its values must only be compared in memory.
func (c *Cluster) Secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, Reading) {
	r := c.Get(ctx, schema.GroupKind{Kind: "Secret"}, key)
	if r.Presence != Present {
		return nil, r
	}
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.Object, secret); err != nil {
		// The error may contain a value.
		return nil, Reading{Presence: Unreadable, Kind: r.Kind, Problem: "it cannot be decoded"}
	}
	return secret, r
}

// Namespace reads a namespace.
func (c *Cluster) Namespace(ctx context.Context, name string) Reading {
	return c.Get(ctx, schema.GroupKind{Kind: "Namespace"}, types.NamespacedName{Name: name})
}

// Stopped returns the controllers that do not run, if that is so and may be read.
func (c *Cluster) Stopped(ctx context.Context) (stop heartbeat.Stop, found bool) {
	r := c.Get(ctx, schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"},
		types.NamespacedName{Namespace: heartbeat.Namespace, Name: heartbeat.Name})
	if r.Object == nil {
		return heartbeat.Stop{}, false
	}
	return heartbeat.Find(r.Object, time.Now())
}

// Events returns the events of an object, the oldest first. Those of cluster-scoped objects are in namespace default.
func (c *Cluster) Events(ctx context.Context, about *unstructured.Unstructured) ([]corev1.Event, Presence) {
	kind, ok := c.Kind(schema.GroupKind{Kind: "Event"})
	if !ok {
		return nil, NoKind
	}
	namespace := cmp.Or(about.GetNamespace(), metav1.NamespaceDefault)
	selector := fields.OneTermEqualSelector("involvedObject.uid", string(about.GetUID()))
	items, err := c.list(ctx, kind, namespace, selector.String())
	switch {
	case apierrors.IsForbidden(err):
		return nil, NoAccess
	case err != nil:
		return nil, Unreadable
	}
	var all []corev1.Event
	for _, item := range items {
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &e); err == nil {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int { return When(a).Compare(When(b)) })
	return all, Present
}

// EachOf calls visit with every object of a role, in all namespaces.
func (c *Cluster) EachOf(ctx context.Context, role Role, visit func(Kind, *unstructured.Unstructured)) error {
	for _, kind := range c.OfRole(role) {
		if err := c.Each(ctx, kind, func(o *unstructured.Unstructured) { visit(kind, o) }); err != nil {
			return err
		}
	}
	return nil
}

// Each calls visit with every object of a kind, in all namespaces.
func (c *Cluster) Each(ctx context.Context, kind Kind, visit func(*unstructured.Unstructured)) error {
	return c.EachIn(ctx, kind, "", visit)
}

// EachIn calls visit with every object of a kind in a namespace.
func (c *Cluster) EachIn(ctx context.Context, kind Kind, namespace string, visit func(*unstructured.Unstructured)) error {
	for next := ""; ; {
		page, err := c.of(kind).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return fmt.Errorf("listing %s: %w", kind, err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// Held returns the objects of a namespace that have finalizers, of the kinds that this user may list.
func (c *Cluster) Held(ctx context.Context, namespace string) (held []unstructured.Unstructured) {
	for _, kind := range c.kindsWhere(func(k Kind) bool { return k.Namespaced }) {
		_ = c.EachIn(ctx, kind, namespace, func(o *unstructured.Unstructured) { // kinds without lists, or without access, have none
			if len(o.GetFinalizers()) > 0 {
				held = append(held, *o)
			}
		})
	}
	return held
}

// list returns one page of objects by field selector. Without a namespace, or for a cluster-scoped kind, it returns all.
func (c *Cluster) list(ctx context.Context, kind Kind, namespace, selector string) ([]unstructured.Unstructured, error) {
	if !kind.Namespaced {
		namespace = ""
	}
	list, err := c.of(kind).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *Cluster) of(kind Kind) dynamic.NamespaceableResourceInterface {
	return c.client.Resource(kind.GroupVersion().WithResource(kind.Resource))
}

// Patch stores what is changed about an object.
func (c *Cluster) Patch(ctx context.Context, kind Kind, o *unstructured.Unstructured, change func(*unstructured.Unstructured)) error {
	changed := o.DeepCopy()
	change(changed)
	patch, err := client.MergeFrom(o).Data(changed)
	if err != nil {
		return err
	}
	_, err = c.of(kind).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// Protection returns the messages with which admission refuses to delete an object. It tries, without effect.
func (c *Cluster) Protection(ctx context.Context, kind Kind, o *unstructured.Unstructured) (messages []string) {
	err := c.of(kind).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	if status := apierrors.APIStatus(nil); apierrors.IsInvalid(err) && errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			messages = append(messages, cause.Message)
		}
	}
	return messages
}

// A Role is what a kind is for.
type Role string

// Roles of the objects between a claim and its Secret, and between an application and its cluster; and of what makes kinds.
const (
	RoleClaim          Role = "claim"
	RoleClass          Role = "class"
	RoleManaged        Role = "managed resource"
	RoleProviderConfig Role = "provider config"
	RoleProvider       Role = "provider" // of Terraform
	RoleTarget         Role = "target"
	RoleWorkload       Role = "workload"
	RoleOther          Role = "object"
)

// A Kind is a kind of the API server, in the version that the server prefers.
type Kind struct {
	schema.GroupVersionKind
	Resource   string // plural
	Namespaced bool

	names      []string // in lower case, without the group
	categories []string
}

// Role derives the role from the categories of the definition.
func (k Kind) Role() Role {
	for _, c := range k.categories {
		switch c {
		case "claim", "claims":
			return RoleClaim
		case "class", "classes":
			return RoleClass
		case "target", "targets":
			return RoleTarget
		case "workload", "workloads":
			return RoleWorkload
		}
	}
	if crd.IsIn("managed", k.categories) {
		return RoleManaged
	}
	if strings.HasSuffix(k.Kind, "ProviderConfig") {
		return RoleProviderConfig
	}
	if crd.IsIn("terraform", k.categories) {
		return RoleProvider
	}
	return RoleOther
}

// String is the kind as kubectl takes it: <kind>.<group> in lower case.
func (k Kind) String() string { return strings.ToLower(k.GroupKind().String()) }

func (k Kind) is(word string) bool {
	word = strings.ToLower(word)
	for _, name := range k.names {
		if word == name || word == name+"."+k.Group || word == name+"."+k.Version+"."+k.Group {
			return true
		}
	}
	return false
}

func kindsOf(groups []*restmapper.APIGroupResources) []Kind {
	var kinds []Kind
	seen := map[schema.GroupKind]bool{}
	for _, g := range groups {
		versions := append([]metav1.GroupVersionForDiscovery{g.Group.PreferredVersion}, g.Group.Versions...)
		for _, v := range versions {
			for _, r := range g.VersionedResources[v.Version] {
				gvk := schema.GroupVersionKind{Group: g.Group.Name, Version: v.Version, Kind: r.Kind}
				if seen[gvk.GroupKind()] || strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "get") {
					continue
				}
				seen[gvk.GroupKind()] = true
				names := append([]string{strings.ToLower(r.Kind), r.Name, r.SingularName}, r.ShortNames...)
				kinds = append(kinds, Kind{
					GroupVersionKind: gvk, Resource: r.Name, Namespaced: r.Namespaced, categories: r.Categories,
					names: slices.DeleteFunc(names, func(n string) bool { return n == "" }),
				})
			}
		}
	}
	return kinds
}

// OfRole returns all kinds of a role.
func (c *Cluster) OfRole(role Role) []Kind {
	return c.kindsWhere(func(k Kind) bool { return k.Role() == role })
}

func (c *Cluster) kindsWhere(matches func(Kind) bool) (kinds []Kind) {
	for _, k := range c.kinds {
		if matches(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Kind returns a kind in the version that the server prefers. It is not ok if the server does not have the kind.
func (c *Cluster) Kind(of schema.GroupKind) (k Kind, ok bool) {
	found := c.kindsWhere(func(k Kind) bool { return k.GroupKind() == of })
	if len(found) == 0 {
		return Kind{}, false
	}
	return found[0], true
}

// ProviderConfigKind returns the configuration kind of a managed kind by its name, empty for ProviderConfig. Its group is a suffix of the
// managed kind's group.
func (c *Cluster) ProviderConfigKind(of schema.GroupKind, name string) (best Kind, ok bool) {
	name = cmp.Or(name, "ProviderConfig")
	for _, k := range c.kinds {
		near := k.Group == of.Group || strings.HasSuffix(of.Group, "."+k.Group)
		if k.Kind == name && near && len(k.Group) >= len(best.Group) {
			best, ok = k, true
		}
	}
	return best, ok
}

// ProviderConfig reads the provider configuration in a field of an object: of a kind, or of a class of objects of that group. It
// returns the reference, in the namespace of the configuration, and is not ok without one.
func (c *Cluster) ProviderConfig(ctx context.Context, of Kind, o *unstructured.Unstructured, path ...string) (corev1.ObjectReference, Reading, bool) {
	ref, ok := Reference(o, path...)
	if !ok {
		return ref, Reading{}, false
	}
	group := of.GroupKind()
	if kind, err := schema.ParseGroupVersion(Text(o, "specTemplate", "apiVersion")); err == nil && kind.Group != "" { // a class that names its kind
		group.Group = kind.Group
	}
	kind, known := c.ProviderConfigKind(group, ref.Kind)
	if !known {
		return ref, Reading{Presence: NoKind}, true
	}
	ref = corev1.ObjectReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: ref.Name}
	if kind.Namespaced {
		ref.Namespace = o.GetNamespace()
	}
	return ref, c.Follow(ctx, ref, ""), true
}

func (c *Cluster) called(word string) ([]Kind, error) {
	if found := c.kindsWhere(func(k Kind) bool { return k.is(word) }); len(found) > 0 {
		return found, nil
	}
	text := fmt.Sprintf("the server has no kind %q; all kinds: kubectl api-resources", word)
	if claims := c.OfRole(RoleClaim); len(claims) > 0 {
		text += "; kinds of claims: " + listOf(claims)
	}
	return nil, &NotFoundError{text}
}

func listOf(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Text returns a string field, empty if there is none.
func Text(o *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

// Conditions returns the conditions of an object that can be decoded.
func Conditions(o *unstructured.Unstructured) xpv1.ConditionedStatus {
	var status xpv1.ConditionedStatus
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		fields, ok := item.(map[string]any)
		var c xpv1.Condition
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			status.Conditions = append(status.Conditions, c)
		}
	}
	return status
}

// Reference returns the object reference in a field. It is not ok without a name.
func Reference(o *unstructured.Unstructured, path ...string) (ref corev1.ObjectReference, ok bool) {
	fields, _, _ := unstructured.NestedMap(o.Object, path...)
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &ref) != nil {
		return corev1.ObjectReference{}, false
	}
	return ref, ref.Name != ""
}

// ConnectionSecret returns the connection Secret that an object names; that of a namespaced object is in its namespace.
func ConnectionSecret(o *unstructured.Unstructured) (key types.NamespacedName, ok bool) {
	ref, ok := Reference(o, "spec", "writeConnectionSecretToRef")
	return types.NamespacedName{Namespace: cmp.Or(o.GetNamespace(), ref.Namespace), Name: ref.Name}, ok
}

// When returns the last time of an event.
func When(e corev1.Event) time.Time {
	times := []time.Time{e.EventTime.Time, e.FirstTimestamp.Time, e.LastTimestamp.Time}
	if e.Series != nil {
		times = append(times, e.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(times, time.Time.Compare)
}

// Plain returns a text as one line without control characters, which could manipulate a terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// Path is namespace/name, or the name alone.
func Path(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
