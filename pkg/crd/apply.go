// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
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
	usableTimeout = 30 * time.Second      // a healthy server needs about one second
	usablePoll    = 50 * time.Millisecond // only at program start
	maxAttempts   = 5                     // after conflicts
	parallel      = 8                     // most of the time is spent waiting for the server
)

// A Report is what Apply did with each definition, by name.
type Report struct {
	Applied   []string // created or changed
	Unchanged []string // up to date
	Skipped   []Skipped
}

// Skipped is a definition that Apply did not change although it differs.
type Skipped struct {
	Name   string // of the CustomResourceDefinition
	Reason string // and what to do, for people
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

// Apply installs the definitions and waits, up to 30 seconds for each, until objects of those that it did not skip can be watched. An
// error of one does not end the others. The report is in the order of the definitions, and valid after an error too. It needs get, create and patch on customresourcedefinitions.
func Apply(ctx context.Context, cfg *rest.Config, crds ...*apiextensionsv1.CustomResourceDefinition) (report Report, err error) {
	i, err := newInstaller(cfg)
	if err != nil {
		return report, err
	}
	decisions, errs := make([]*decision, len(crds)), make([]error, len(crds))
	var group errgroup.Group
	group.SetLimit(parallel)
	for n, definition := range crds {
		group.Go(func() error {
			d, err := i.apply(ctx, definition)
			if err != nil {
				errs[n] = fmt.Errorf("applying custom resource definition %s: %w", definition.Name, err)
				return nil
			}
			decisions[n] = &d
			if d.skip != "" {
				return nil
			}
			if err := i.awaitUsable(ctx, definition); err != nil {
				errs[n] = fmt.Errorf("waiting for custom resource definition %s: %w", definition.Name, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
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
		r.Skipped = append(r.Skipped, Skipped{Name: name, Reason: d.skip})
	case d.write:
		r.Applied = append(r.Applied, name)
	default:
		r.Unchanged = append(r.Unchanged, name)
	}
}

// An installer applies definitions to one API server.
type installer struct {
	client client.Client
	raw    rest.Interface // for whole paths
}

// newInstaller gives the client a fixed mapping for its one kind, which saves discovery requests.
func newInstaller(cfg *rest.Config) (*installer, error) {
	types, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	typesErr := errors.Join(apiextensionsv1.AddToScheme(types), admissionv1.AddToScheme(types))
	mapper.Add(kind(), meta.RESTScopeRoot)
	policyKinds(mapper)
	c, err := client.New(cfg, client.Options{Scheme: types, Mapper: mapper})
	whole := rest.CopyConfig(cfg)
	whole.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	raw, rawErr := rest.UnversionedRESTClientFor(whole)
	if err := errors.Join(typesErr, err, rawErr); err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return &installer{client: c, raw: raw}, nil
}

func kind() schema.GroupVersionKind {
	return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
}

// apply decides and writes. A write is bound to the resource version of the decision, so that a definition which changes hands
// in between is not overwritten.
func (i *installer) apply(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) (d decision, err error) {
	wanted := definition.DeepCopy()
	wanted.SetGroupVersionKind(kind())
	i.client.Scheme().Default(wanted)
	metav1.SetMetaDataLabel(&wanted.ObjectMeta, LabelManagedBy, ManagedBy)
	for range maxAttempts {
		var installed *apiextensionsv1.CustomResourceDefinition
		if installed, err = i.get(ctx, definition.Name); err != nil {
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
	case installed.DeletionTimestamp != nil:
		return nil, errors.New("it is being deleted: try again when it is deleted")
	}
	return installed, nil
}

func (i *installer) write(ctx context.Context, installed, wanted *apiextensionsv1.CustomResourceDefinition) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	object := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	options := []client.ApplyOption{client.FieldOwner(FieldManager)}
	if installed != nil {
		// It is ours, so fields that others edited are reset, but only in the state of the decision.
		object.SetResourceVersion(installed.ResourceVersion)
		options = append(options, client.ForceOwnership)
	}
	return i.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
}

// awaitUsable waits until objects of a definition can be watched in every served version. Condition Established is true a moment
// before the endpoints and their watch cache are ready, and a watch that comes too early is turned away for a whole second,
// which would delay each start of the controllers.
func (i *installer) awaitUsable(ctx context.Context, definition *apiextensionsv1.CustomResourceDefinition) error {
	ctx, cancel := context.WithTimeout(ctx, usableTimeout)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, usablePoll, true, func(ctx context.Context) (bool, error) {
		installed, err := i.get(ctx, definition.Name)
		if err != nil || installed == nil {
			return false, err
		}
		if names := apihelpers.FindCRDCondition(installed, apiextensionsv1.NamesAccepted); names != nil && names.Status == apiextensionsv1.ConditionFalse {
			return false, fmt.Errorf("its names are not accepted: %s", names.Message)
		}
		if !apihelpers.IsCRDConditionTrue(installed, apiextensionsv1.Established) {
			last = fmt.Errorf("conditions %v", installed.Status.Conditions)
			return false, nil
		}
		for _, v := range definition.Spec.Versions {
			last = i.tryWatch(ctx, definition, v)
			switch {
			case apierrors.IsNotFound(last), apierrors.IsTooManyRequests(last):
				return false, nil
			case last != nil:
				return false, last
			}
		}
		return true, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(err, last)
	}
	return err
}

// tryWatch opens a watch and closes it. Forbidden is no error: the endpoint is ready, and a program that may install definitions
// need not be allowed to watch objects.
func (i *installer) tryWatch(
	ctx context.Context, d *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion,
) error {
	if !v.Served {
		return nil
	}
	stream, err := i.raw.Get().AbsPath("/apis", d.Spec.Group, v.Name, d.Spec.Names.Plural).
		Param("watch", "true").Param("timeoutSeconds", "1").MaxRetries(0).Stream(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("version %s is not served: %w", v.Name, err)
	}
	return stream.Close()
}

// A decision is what to do with one definition.
type decision struct {
	write bool
	skip  string // why it is skipped; empty if it is not
}

// decide compares the installed definition, nil for none, with the wanted one, which has defaults and the label.
func decide(installed, wanted *apiextensionsv1.CustomResourceDefinition) (decision, error) {
	if installed == nil {
		return decision{write: true}, nil
	}
	if installed.Labels[LabelManagedBy] != ManagedBy {
		return decision{skip: fmt.Sprintf("it was not installed by Bowline (no label %s=%s); "+
			"to hand it over, set that label on it", LabelManagedBy, ManagedBy)}, nil
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
	// Decoded values are compared, since order and spaces of the raw JSON in schemas do not count.
	is, isErr := runtime.DefaultUnstructuredConverter.ToUnstructured(installed)
	want, wantErr := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err := errors.Join(isErr, wantErr); err != nil {
		return decision{}, fmt.Errorf("decoding definition: %w", err)
	}
	contains := func(whole, part map[string]string) bool {
		return labels.SelectorFromSet(part).Matches(labels.Set(whole))
	}
	same := reflect.DeepEqual(is["spec"], want["spec"]) && contains(installed.Labels, wanted.Labels) &&
		contains(installed.Annotations, wanted.Annotations) // those of others are ignored
	return decision{write: !same}, nil
}
