// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package classes connects claims with managed resources of Terraform kinds, as TerraformClasses declare.
package classes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	storagev1alpha1 "github.com/bowline-dev/bowline/apis/storage/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/class"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// Classes connect all claim kinds of the core with TerraformClass.
func Classes() []provider.Class {
	var all []provider.Class
	for _, claim := range []resource.Claim{&databasev1alpha1.PostgreSQLInstance{}, &databasev1alpha1.MySQLInstance{},
		&databasev1alpha1.FancySQLInstance{}, &cachev1alpha1.RedisCluster{}, &storagev1alpha1.Bucket{}, &computev1alpha1.KubernetesCluster{}} {
		all = append(all, provider.Class{Claim: claim, Object: &v1alpha1.TerraformClass{}, Kinds: claimedKinds{},
			Configurators: []claimbinding.ManagedConfigurator{configurator{}}})
	}
	return all
}

// claimedKinds are the cluster-scoped kinds that TerraformProviders define.
type claimedKinds struct{}

// Kind satisfies resource.Kinds.
func (claimedKinds) Kind(of schema.GroupKind) (schema.GroupVersionKind, bool) {
	name, ok := providerOf(of)
	return of.WithVersion(kinds.Version), ok && name != "" && !strings.Contains(name, ".") && of.Kind != xpv1.ProviderConfigKind
}

func providerOf(of schema.GroupKind) (name string, ok bool) {
	return strings.CutSuffix(of.Group, kinds.Group("", apiextensionsv1.ClusterScoped))
}

// Definer satisfies resource.Kinds.
func (claimedKinds) Definer() (client.Object, predicate.Predicate) {
	return &v1alpha1.TerraformProvider{}, predicate.Funcs{UpdateFunc: redefines}
}

// redefines leaves out updates that change nothing about the kinds, as those of processes, which are many.
func redefines(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.TerraformProvider)
	after, both := e.ObjectNew.(*v1alpha1.TerraformProvider)
	return ok && both && (before.Generation != after.Generation || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(defined(before), defined(after)))
}

// defined is the part of a status that depends on the kinds and their schemas.
func defined(of *v1alpha1.TerraformProvider) (s v1alpha1.TerraformProviderStatus) {
	ready := of.GetCondition(xpv1.TypeReady)
	s.Binary, s.Version, s.Available, s.Kinds = of.Status.Binary, of.Status.Version, of.Status.Available, of.Status.Kinds
	s.Conditions = []xpv1.Condition{{Status: ready.Status, Reason: ready.Reason, ObservedGeneration: ready.ObservedGeneration}}
	return s
}

// Group satisfies resource.Kinds.
func (claimedKinds) Group(definer client.Object) string {
	return kinds.Group(definer.GetName(), apiextensionsv1.ClusterScoped)
}

// Check satisfies resource.Kinds.
func (claimedKinds) Check(ctx context.Context, c client.Reader, of schema.GroupKind) error {
	name, _ := providerOf(of)
	tp := &v1alpha1.TerraformProvider{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, tp)
	ready := tp.GetCondition(xpv1.TypeReady)
	serves := slices.ContainsFunc(tp.Status.Kinds, func(k v1alpha1.ServedKind) bool { return k.Kind == of.Kind })
	switch {
	case apierrors.IsNotFound(err):
		return notServed("TerraformProvider %q does not exist: create it, with the resource type of kind %s in spec.types", name, of.Kind)
	case err != nil:
		return fmt.Errorf("reading TerraformProvider: %w", err)
	case tp.DeletionTimestamp != nil:
		return notServed("TerraformProvider %q is being deleted: create it again after that, or create a class of another kind", name)
	case ready.Status == corev1.ConditionFalse && !(serves && ready.Reason == controller.ReasonServedInPart):
		return notServed("TerraformProvider %q is not ready, and its condition Ready has the cause: bowline why terraformprovider/%s", name, name)
	case ready.Reason == "":
		return notServed("TerraformProvider %q was not reconciled yet: wait until it is ready; if that lasts, check whether the controllers run", name)
	case !serves:
		return notServed("TerraformProvider %q serves no kind %s: add its resource type to spec.types, or create a class of another kind; "+
			"status.kinds lists those that it serves", name, of.Kind)
	}
	return nil
}

func notServed(format string, a ...any) error {
	return &failure.Error{Reason: failure.Reason(class.ReasonKindNotServed), Message: fmt.Sprintf(format, a...)}
}

// CheckClass satisfies resource.Kinds. The API server checks the template for a claim without settings, and creates nothing.
func (s claimedKinds) CheckClass(ctx context.Context, c client.Client, of resource.Class) error {
	tc, ok := of.(*v1alpha1.TerraformClass)
	if !ok {
		return fmt.Errorf("resource class is not a TerraformClass")
	}
	kind := tc.GetManagedKind()
	if err := s.Check(ctx, c, kind.GroupKind()); err != nil {
		return err
	}
	claim := &metav1.ObjectMeta{Namespace: "namespace", Name: "name", UID: "00000000-0000-4000-8000-000000000000"}
	parameters, err := newTemplate(claim, tc.GetClaimKind(), nil).parameters(tc)
	if err != nil {
		return err
	}
	mg := unstructured.New(kind)
	mg.SetGenerateName("class-")
	mg.Object["spec"] = map[string]any{"forProvider": parameters}
	err = c.Create(ctx, mg, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return wrongTemplate("specTemplate.forProvider is not accepted: correct it. kubectl explain %s.spec.forProvider "+
			"--api-version %s describes the fields. The API server says: %v", strings.ToLower(kind.Kind), kind.GroupVersion(), err)
	}
	return err
}
