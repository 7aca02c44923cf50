// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
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
	establishTimeout = 30 * time.Second      // for all definitions together; a healthy server needs about one second
	establishPoll    = 50 * time.Millisecond // only at program start
	maxAttempts      = 5                     // after conflicts
)

// Apply installs the definitions and waits, up to 30 seconds, until objects of those that it did not skip can be watched. The
// report is valid after an error too. It needs get, create and patch on customresourcedefinitions.
func Apply(ctx context.Context, cfg *rest.Config, crds ...*apiextensionsv1.CustomResourceDefinition) (Report, error) {
	var report Report
	c, err := newClient(cfg)
	if err != nil {
		return report, err
	}
	for _, definition := range crds {
		d, err := apply(ctx, c, definition)
		if err != nil {
			return report, fmt.Errorf("applying custom resource definition %s: %w", definition.Name, err)
		}
		report.add(definition.Name, d)
	}
	return report, waitUsable(ctx, cfg, c, crds, report)
}

// waitUsable waits for definitions that were not skipped.
func waitUsable(ctx context.Context, cfg *rest.Config, c client.Client, crds []*apiextensionsv1.CustomResourceDefinition, report Report) error {
	raw, err := newRESTClient(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, establishTimeout)
	defer cancel()
	for _, definition := range crds {
		if report.skipped(definition.Name) {
			continue
		}
		if err := waitEstablished(ctx, c, definition.Name); err != nil {
			return fmt.Errorf("waiting for custom resource definition %s: %w", definition.Name, err)
		}
		if err := waitServed(ctx, raw, definition); err != nil {
			return fmt.Errorf("waiting for custom resource definition %s: %w", definition.Name, err)
		}
	}
	return nil
}

// newClient has a fixed mapping for its one kind, which saves discovery requests.
func newClient(cfg *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering apiextensions types: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kind(), meta.RESTScopeRoot)
	c, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return c, nil
}

func kind() schema.GroupVersionKind {
	return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
}

// apply decides and writes. A write is bound to the resource version of the decision, so that a definition which changes hands
// in between is not overwritten.
func apply(ctx context.Context, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) (decision, error) {
	wanted := complete(c.Scheme(), definition)
	var err error
	for range maxAttempts {
		var installed *apiextensionsv1.CustomResourceDefinition
		if installed, err = get(ctx, c, definition.Name); err != nil {
			return decision{}, err
		}
		var d decision
		if d, err = decide(installed, wanted); err != nil || !d.write {
			return d, err
		}
		if err = write(ctx, c, installed, wanted); err == nil || !apierrors.IsConflict(err) {
			return d, err
		}
	}
	return decision{}, err
}

// complete returns a copy with the defaults of the API server and our label.
func complete(scheme *runtime.Scheme, definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	wanted := definition.DeepCopy()
	wanted.SetGroupVersionKind(kind())
	scheme.Default(wanted)
	if wanted.Labels == nil {
		wanted.Labels = map[string]string{}
	}
	wanted.Labels[LabelManagedBy] = ManagedBy
	return wanted
}

func get(ctx context.Context, c client.Client, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	installed := &apiextensionsv1.CustomResourceDefinition{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, installed)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if installed.DeletionTimestamp != nil {
		return nil, errors.New("it is being deleted: try again when it is deleted")
	}
	return installed, nil
}

func write(ctx context.Context, c client.Client, installed, wanted *apiextensionsv1.CustomResourceDefinition) error {
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
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
}

func waitEstablished(ctx context.Context, c client.Client, name string) error {
	var conditions []apiextensionsv1.CustomResourceDefinitionCondition
	err := wait.PollUntilContextCancel(ctx, establishPoll, true, func(ctx context.Context) (bool, error) {
		installed, err := get(ctx, c, name)
		if err != nil || installed == nil {
			return false, err
		}
		conditions = installed.Status.Conditions
		if apihelpers.IsCRDConditionFalse(installed, apiextensionsv1.NamesAccepted) {
			names := apihelpers.FindCRDCondition(installed, apiextensionsv1.NamesAccepted)
			return false, fmt.Errorf("its names are not accepted: %s", names.Message)
		}
		return apihelpers.IsCRDConditionTrue(installed, apiextensionsv1.Established), nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w (conditions %v)", err, conditions)
	}
	return err
}
