// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	policyTimeout = 30 * time.Second // a healthy server reads policies once per second
	policyPoll    = 50 * time.Millisecond
)

// isPolicy is true for an admission policy or its binding.
func isPolicy(document []byte) bool {
	var of metav1.TypeMeta
	return json.Unmarshal(document, &of) == nil && of.GroupVersionKind().Group == admissionv1.GroupName
}

// Protect applies the admission policies among the files, and waits until they are in force: API servers read a changed policy a
// moment later (N39). Apply may run at the same time, but must run. Protect needs get, create and patch on
// validatingadmissionpolicies and validatingadmissionpolicybindings, and delete to replace those of former names; with delete on
// customresourcedefinitions it waits.
func Protect(ctx context.Context, cfg *rest.Config, files fs.FS) error {
	all, err := read(files)
	if err != nil {
		return err
	}
	i, err := newInstaller(cfg)
	if err != nil {
		return err
	}
	applied := sets.New[string]()
	for _, policy := range all.policies {
		if err := i.applyPolicy(ctx, policy.DeepCopy()); err != nil {
			return fmt.Errorf("applying admission policies: %w", err)
		}
		applied.Insert(policy.GetName())
	}
	if applied.Len() == 0 {
		return nil
	}
	if err := i.awaitPolicy(ctx, all.definitions); err != nil {
		return fmt.Errorf("waiting until admission policies are in force: %w", err)
	}
	if err := i.removeFormer(ctx, applied, all.definitions); err != nil {
		return fmt.Errorf("deleting the admission policy of a former name: %w", err)
	}
	return nil
}

// removeFormer deletes our policy whose name has only the domain of the definitions, which APIs may share, if it lists no definition but
// these: later versions have other names. The binding is deleted first, since the policy finds both. The API server, which reads all
// policies at once, has the new one in force when the former ends. Where the deletion is forbidden, both stay and refuse the same.
func (i *installer) removeFormer(ctx context.Context, applied sets.Set[string], definitions []*apiextensionsv1.CustomResourceDefinition) error {
	ours, former := sets.New[string](), sets.New[string]()
	for _, d := range definitions {
		labels := strings.Split(d.Name, ".")
		ours.Insert(d.Name)
		former.Insert("protection." + strings.Join(labels[max(0, len(labels)-2):], "."))
	}
	for name := range former.Difference(applied) {
		policy := &admissionv1.ValidatingAdmissionPolicy{}
		err := i.client.Get(ctx, client.ObjectKey{Name: name}, policy)
		if listed := definitionsOf(policy); err != nil || policy.Labels[LabelManagedBy] != ManagedBy || len(listed) == 0 || !ours.HasAll(listed...) {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			continue
		}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err = client.IgnoreNotFound(i.client.Delete(ctx, binding)); err == nil {
			err = client.IgnoreNotFound(i.client.Delete(ctx, policy, client.Preconditions{UID: &policy.UID, ResourceVersion: &policy.ResourceVersion}))
		}
		if err != nil && !apierrors.IsForbidden(err) {
			return err
		}
	}
	return nil
}

// definitionsOf returns the definitions that a generated policy lists.
func definitionsOf(policy *admissionv1.ValidatingAdmissionPolicy) []string {
	for _, c := range policy.Spec.MatchConditions {
		if _, list, ok := strings.Cut(c.Expression, " in ["); ok && c.Name == "definition-of-this-api" {
			return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("', ]", r) })
		}
	}
	return nil
}

// applyPolicy writes a policy, or a binding, unless it is up to date.
func (i *installer) applyPolicy(ctx context.Context, policy *unstructured.Unstructured) error {
	policy.SetLabels(map[string]string{LabelManagedBy: ManagedBy})
	installed := &unstructured.Unstructured{}
	installed.SetGroupVersionKind(policy.GroupVersionKind())
	err := i.client.Get(ctx, client.ObjectKeyFromObject(policy), installed)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s %s: %w", policy.GetKind(), policy.GetName(), err)
	}
	if err == nil && reflect.DeepEqual(installed.Object["spec"], policy.Object["spec"]) && installed.GetLabels()[LabelManagedBy] == ManagedBy {
		return nil
	}
	if err == nil && installed.GetLabels()[LabelManagedBy] == ManagedBy {
		if err := i.replaceSpec(ctx, installed, policy.Object["spec"]); err != nil {
			return fmt.Errorf("resetting %s %s: %w", policy.GetKind(), policy.GetName(), err)
		}
	}
	err = i.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(policy), client.FieldOwner(FieldManager), client.ForceOwnership)
	switch {
	case apierrors.IsNotFound(err):
		return errors.New("the API server does not serve ValidatingAdmissionPolicy, which needs Kubernetes 1.30 or later")
	case err != nil:
		return fmt.Errorf("writing %s %s: %w", policy.GetKind(), policy.GetName(), err)
	}
	return nil
}

// awaitPolicy tries to delete definitions, without effect, until that is refused, also after a start that wrote the policy and was
// interrupted. A definition may be absent for now. If the deletion of each is permitted anyway, there is nothing to wait for.
func (i *installer) awaitPolicy(ctx context.Context, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	ctx, cancel := context.WithTimeout(ctx, policyTimeout)
	defer cancel()
	permitted := sets.New[string]()
	for n := 0; permitted.Len() < len(definitions); n++ {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitions[n%len(definitions)].Name}}
		if err := i.client.Get(ctx, client.ObjectKeyFromObject(definition), definition); err == nil && mayBeDeleted(definition) {
			permitted.Insert(definition.Name)
			continue
		}
		err := i.client.Delete(ctx, definition, client.DryRunAll)
		switch {
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err): // refused, or the user may not try
			return nil
		case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			return err
		}
		select {
		case <-time.After(policyPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// mayBeDeleted is true for a definition whose deletion no policy refuses.
func mayBeDeleted(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.DeletionTimestamp != nil || definition.Annotations["bowline.dev/allow-deletion"] == "true"
}

// policyKinds are the kinds of the objects that make up an admission policy.
func policyKinds(to *meta.DefaultRESTMapper) {
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		to.Add(admissionv1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeRoot)
	}
}
