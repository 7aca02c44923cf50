// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FieldManager is the field manager of definitions.
	FieldManager = "bowline-crds"
	// LabelManagedBy, with the value ManagedBy, marks the definitions that Apply may change and is set by it.
	LabelManagedBy = "bowline.dev/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "bowline"
)

const (
	usableTimeout   = 30 * time.Second      // a healthy server needs about one second
	usablePoll      = 50 * time.Millisecond // only at program start
	deletionTimeout = 3 * time.Second       // for a definition without objects
	deletionPoll    = 250 * time.Millisecond
	namesPolls      = 10 // polls between two looks at names that the server may have refused
	maxAttempts     = 5  // after conflicts
	parallel        = 8  // most of the time is spent waiting for the server
)

// A Report is what Apply did with each definition, by name.
type Report struct {
	Applied   []string // created or changed
	Unchanged []string // up to date
	Skipped   []Skipped
}

// Skipped is a definition that Apply did not change although it differs.
type Skipped struct {
	Name     string // of the CustomResourceDefinition
	Reason   string // and what to do, for people
	Deleting bool   // it is being deleted, and can be applied once it is gone
}

// String is one line for each skipped definition, or a count if there is none.
func (r Report) String() string {
	if len(r.Skipped) == 0 {
		return fmt.Sprintf("%d applied, %d unchanged", len(r.Applied), len(r.Unchanged))
	}
	var lines []string
	for _, s := range r.Skipped {
		lines = append(lines, fmt.Sprintf("custom resource definition %s is skipped: %s", s.Name, s.Reason))
	}
	return strings.Join(lines, "\n")
}

// Apply installs the definitions and waits, up to 30 seconds, until those that it did not skip are served and discovered. An
// error of one does not end the others. The report is in the order of the definitions, and valid after an error too. It needs get, create
// and patch on customresourcedefinitions; with list, it reads those that are up to date in one request.
func Apply(ctx context.Context, cfg *rest.Config, crds ...*apiextensionsv1.CustomResourceDefinition) (report Report, err error) {
	i, err := newInstaller(cfg)
	if err != nil {
		return report, err
	}
	known := i.known(ctx)
	decisions, errs, usable := make([]*decision, len(crds)), make([]error, len(crds)), make([]*apiextensionsv1.CustomResourceDefinition, len(crds))
	var group errgroup.Group
	group.SetLimit(parallel)
	for n, definition := range crds {
		group.Go(func() error {
			d, err := i.apply(ctx, definition, known[definition.Name])
			if err != nil {
				errs[n] = fmt.Errorf("applying custom resource definition %s: %w", definition.Name, err)
				return nil
			}
			if decisions[n] = &d; d.skip == "" {
				usable[n] = definition
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for n, err := range i.awaitUsable(ctx, usable) {
		if err != nil {
			errs[n] = fmt.Errorf("waiting for custom resource definition %s: %w", crds[n].Name, err)
		}
	}
	for n, d := range decisions {
		if d != nil {
			report.add(crds[n].Name, *d)
		}
	}
	return report, errors.Join(errs...)
}

func (r *Report) add(name string, d decision) {
	switch {
	case d.skip != "":
		r.Skipped = append(r.Skipped, Skipped{Name: name, Reason: d.skip, Deleting: d.deleting})
	case d.write:
		r.Applied = append(r.Applied, name)
	default:
		r.Unchanged = append(r.Unchanged, name)
	}
}

// An installer applies definitions to one API server.
type installer struct {
	client    client.Client
	discovery discovery.DiscoveryInterface
}

// newInstaller gives the client a fixed mapping for its one kind, which saves discovery requests.
func newInstaller(cfg *rest.Config) (*installer, error) {
	known, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	knownErr := errors.Join(apiextensionsv1.AddToScheme(known), admissionv1.AddToScheme(known))
	mapper.Add(kind(), meta.RESTScopeRoot)
	policyKinds(mapper)
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = runtime.ContentTypeProtobuf // definitions are large, and decoding JSON takes long
	c, err := client.New(cfg, client.Options{Scheme: known, Mapper: mapper})
	d, discoveryErr := discovery.NewDiscoveryClientForConfig(cfg)
	if err := errors.Join(knownErr, err, discoveryErr); err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return &installer{client: c, discovery: d}, nil
}

func kind() schema.GroupVersionKind {
	return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
}

// known returns the definitions that are ours by name: one request for all of them. Without the right to list definitions, each is read.
func (i *installer) known(ctx context.Context) map[string]*apiextensionsv1.CustomResourceDefinition {
	var list apiextensionsv1.CustomResourceDefinitionList
	if err := i.client.List(ctx, &list, client.MatchingLabels{LabelManagedBy: ManagedBy}); err != nil {
		return nil // reading each returns the error, too, if it lasts
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for n := range list.Items {
		found[list.Items[n].Name] = &list.Items[n]
	}
	return found
}

// apply decides and writes, unless the known state of the definition, nil for none, is up to date. A write is bound to the resource
// version of the decision, so that a definition which changes hands in between is not overwritten.
func (i *installer) apply(ctx context.Context, definition, known *apiextensionsv1.CustomResourceDefinition) (d decision, err error) {
	wanted := complete(i.client.Scheme(), definition)
	if known != nil && known.DeletionTimestamp == nil {
		if d, err = decide(known, wanted); err == nil && !d.write && d.skip == "" {
			return d, nil
		}
	}
	for range maxAttempts {
		var installed *apiextensionsv1.CustomResourceDefinition
		if installed, err = i.awaitDeletion(ctx, definition.Name); err != nil {
			return d, err
		}
		if d, err = decide(installed, wanted); err != nil || !d.write {
			return d, err
		}
		if err = i.write(ctx, installed, wanted); !apierrors.IsConflict(err) {
			return d, err
		}
	}
	return d, err
}

// get returns nil for a definition that does not exist.
func (i *installer) get(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	installed := &apiextensionsv1.CustomResourceDefinition{}
	switch err := i.client.Get(ctx, client.ObjectKey{Name: name}, installed); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading: %w", err)
	}
	return installed, nil
}

// awaitDeletion is get, but gives a definition that is being deleted a moment to be gone. Its objects can delay that for ever.
func (i *installer) awaitDeletion(ctx context.Context, name string) (installed *apiextensionsv1.CustomResourceDefinition, err error) {
	limit, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	waitErr := wait.PollUntilContextCancel(limit, deletionPoll, true, func(context.Context) (bool, error) {
		installed, err = i.get(ctx, name)
		return err != nil || installed == nil || installed.DeletionTimestamp == nil, nil
	})
	if waitErr != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return installed, err
}

// complete returns a copy with defaults and the label.
func complete(scheme *runtime.Scheme, definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	wanted := definition.DeepCopy()
	wanted.SetGroupVersionKind(kind())
	scheme.Default(wanted)
	metav1.SetMetaDataLabel(&wanted.ObjectMeta, LabelManagedBy, ManagedBy)
	return wanted
}

// toApply returns what is sent to the server.
func toApply(wanted *apiextensionsv1.CustomResourceDefinition) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

func (i *installer) write(ctx context.Context, installed, wanted *apiextensionsv1.CustomResourceDefinition) error {
	object, err := toApply(wanted)
	if err != nil {
		return err
	}
	options := []client.ApplyOption{client.FieldOwner(FieldManager)}
	if installed != nil {
		// It is ours, so fields that others edited are reset, but only in the state of the decision.
		object.SetResourceVersion(installed.ResourceVersion)
		options = append(options, client.ForceOwnership)
	}
	err = i.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
	if installed != nil && apierrors.IsInvalid(err) { // together with what others added
		err = i.replaceSpec(ctx, installed, object.Object["spec"])
	}
	return err
}

// replaceSpec resets what others added to the spec of an object of ours, which applying keeps. It writes only in the given state.
func (i *installer) replaceSpec(ctx context.Context, installed client.Object, spec any) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": installed.GetResourceVersion()},
		{"op": "replace", "path": "/spec", "value": spec},
	})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	return i.client.Patch(ctx, installed, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
}

// awaitUsable waits until the server discovers every served version of the definitions: it serves their objects then, and clients find
// them. Condition Established is true a moment before. No object is asked for, since a server spends memory on each kind of which it has
// served some. It returns an error for each definition that is not usable, in their order.
func (i *installer) awaitUsable(ctx context.Context, definitions []*apiextensionsv1.CustomResourceDefinition) []error {
	ctx, cancel := context.WithTimeout(ctx, usableTimeout)
	defer cancel()
	errs, refused := make([]error, len(definitions)), make([]error, len(definitions))
	if !slices.ContainsFunc(definitions, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d != nil }) {
		return errs
	}
	polls := 0
	_ = wait.PollUntilContextCancel(ctx, usablePoll, true, func(ctx context.Context) (done bool, _ error) {
		found, err := i.discover()
		denied := apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)
		polls++
		done = true
		for n, d := range definitions {
			if d == nil || refused[n] != nil {
				continue
			}
			if errs[n] = cmp.Or(err, found.lacks(d)); errs[n] == nil || denied {
				continue
			}
			if polls%namesPolls == 0 {
				refused[n] = i.checkNames(ctx, d.Name)
			}
			done = done && refused[n] != nil
		}
		return done, nil
	})
	for n, err := range refused {
		errs[n] = cmp.Or(err, errs[n])
	}
	return errs
}

// checkNames returns an error if the server will never serve a definition.
func (i *installer) checkNames(ctx context.Context, name string) error {
	installed, err := i.get(ctx, name)
	if err != nil || installed == nil {
		return err
	}
	if names := apihelpers.FindCRDCondition(installed, apiextensionsv1.NamesAccepted); names != nil && names.Status == apiextensionsv1.ConditionFalse {
		return fmt.Errorf("its names are not accepted: %s", names.Message)
	}
	return nil
}

// discovered holds the resources of group versions.
type discovered map[string][]metav1.APIResource

// discover leaves out groups of API services that do not answer.
func (i *installer) discover() (discovered, error) {
	_, lists, err := i.discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discovering what is served: %w", err)
	}
	found := discovered{}
	for _, list := range lists {
		found[list.GroupVersion] = list.APIResources
	}
	return found, nil
}

// lacks returns an error if a served version of a definition is not discovered.
func (found discovered) lacks(d *apiextensionsv1.CustomResourceDefinition) error {
	this := func(r metav1.APIResource) bool { return r.Name == d.Spec.Names.Plural && r.Kind == d.Spec.Names.Kind }
	for _, v := range d.Spec.Versions {
		if v.Served && !slices.ContainsFunc(found[d.Spec.Group+"/"+v.Name], this) {
			return fmt.Errorf("version %s is not served yet", v.Name)
		}
	}
	return nil
}

// A decision is what to do with one definition.
type decision struct {
	write    bool
	skip     string // why it is skipped; empty if it is not
	deleting bool
}

// decide compares the installed definition, nil for none, with the wanted one, which has defaults and the label.
func decide(installed, wanted *apiextensionsv1.CustomResourceDefinition) (decision, error) {
	if installed == nil {
		return decision{write: true}, nil
	}
	deleting := installed.DeletionTimestamp != nil
	if installed.Labels[LabelManagedBy] != ManagedBy {
		return decision{deleting: deleting, skip: fmt.Sprintf("it was not installed by Bowline (no label %s=%s); "+
			"to hand it over, set that label on it", LabelManagedBy, ManagedBy)}, nil
	}
	if deleting {
		return decision{deleting: true, skip: "it is being deleted, which its objects delay; delete them, or see what bowline why says of each"}, nil
	}
	served := map[string]bool{}
	for _, v := range wanted.Spec.Versions {
		served[v.Name] = v.Served
	}
	var dropped []string
	for _, v := range installed.Spec.Versions {
		if v.Served && !served[v.Name] {
			dropped = append(dropped, v.Name)
		}
	}
	if len(dropped) > 0 {
		return decision{skip: fmt.Sprintf("it serves %s, which this program does not know; "+
			"run a newer one, or stop serving that version first", strings.Join(dropped, ", "))}, nil
	}
	contains := func(whole, part map[string]string) bool {
		return labels.SelectorFromSet(part).Matches(labels.Set(whole))
	}
	if !contains(installed.Labels, wanted.Labels) || !contains(installed.Annotations, wanted.Annotations) { // those of others are ignored
		return decision{write: true}, nil
	}
	if equality.Semantic.DeepEqual(installed.Spec, wanted.Spec) {
		return decision{}, nil
	}
	// Decoded values are compared, since order and spaces of the raw JSON in schemas do not count.
	is, isErr := runtime.DefaultUnstructuredConverter.ToUnstructured(installed)
	want, wantErr := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err := errors.Join(isErr, wantErr); err != nil {
		return decision{}, fmt.Errorf("decoding definition: %w", err)
	}
	return decision{write: !reflect.DeepEqual(is["spec"], want["spec"])}, nil
}
