// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
)

// keepBinding restores the references and finalizers of a bound claim that an update leaves out, as Kubernetes does with the clusterIP of
// a Service: kubectl replace sends the file of the author, which lacks what was filled in. Other API servers refuse such an update by the
// schema of claims (N52).
type keepBinding struct{}

func (keepBinding) Handles(op admission.Operation) bool { return op == admission.Update }

func (keepBinding) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	old, was := a.GetOldObject().(*unstructured.Unstructured)
	claim, is := a.GetObject().(*unstructured.Unstructured)
	if !was || !is || a.GetSubresource() != "" {
		return nil
	}
	if phase, _, _ := unstructured.NestedString(old.Object, "status", "bindingPhase"); phase != "Bound" {
		return nil
	}
	resource, bound, _ := unstructured.NestedMap(old.Object, "spec", "resourceRef") // only claims have it
	if !bound {
		return nil
	}
	if given, _, _ := unstructured.NestedString(claim.Object, "spec", "resourceRef", "uid"); given == "" && old.GetDeletionTimestamp() == nil &&
		len(claim.GetFinalizers()) == 0 {
		claim.SetFinalizers(old.GetFinalizers())
	}
	if err := restore(claim, resource, "resourceRef"); err != nil {
		return err
	}
	if class, chosen, _ := unstructured.NestedMap(old.Object, "spec", "classRef"); chosen {
		return restore(claim, class, "classRef")
	}
	return nil
}

// restore sets a reference of a claim that is missing, or is the same without the UID.
func restore(claim *unstructured.Unstructured, ref map[string]any, field string) error {
	given, found, err := unstructured.NestedMap(claim.Object, "spec", field)
	for _, key := range []string{"apiVersion", "kind", "name"} {
		found = found && given[key] == ref[key]
	}
	if err != nil || len(given) > 0 && (!found || given["uid"] != nil) {
		return nil // the schema decides
	}
	return unstructured.SetNestedMap(claim.Object, ref, "spec", field)
}
