// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"bytes"
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
)

// A transaction of the store has at most 1.5 MB and 128 writes.
const (
	maxWrite  = 1 << 20
	maxWrites = 100
)

// initialTypes are the types that StoreInitial knows.
var initialTypes = runtime.NewSchemeBuilder(apiextensionsv1.AddToScheme, admissionv1.AddToScheme)

// StoreInitial stores definitions and admission policies in a store that has no definitions yet, before the server reads it. Through the
// API, each definition would be validated, and its status written twice; and a policy is in force a second later.
//
// After a crash on the way, the server has those that are stored, and the others come through the API.
func StoreInitial(ctx context.Context, store *etcd.Store, list func() ([]runtime.Object, error)) error {
	if n, err := store.Count(ctx, apiextensions.Resource("customresourcedefinitions")); err != nil || n > 0 {
		return err
	}
	objects, err := list()
	if err != nil || len(objects) == 0 {
		return err
	}
	types := runtime.NewScheme()
	if err := initialTypes.AddToScheme(types); err != nil {
		return err
	}
	encoder := protobuf.NewSerializer(types, types)
	client := store.NewClient()
	defer client.Close()
	var absent []clientv3.Cmp
	var writes []clientv3.Op
	size, seen := 0, sets.New[string]()
	commit := func() error { // nothing if one of them exists, such as the policies of definitions that were deleted
		_, err := client.Txn(ctx).If(absent...).Then(writes...).Commit()
		absent, writes, size = nil, nil, 0
		return err
	}
	for _, o := range objects {
		key, err := complete(o, time.Now())
		if err != nil {
			return err
		}
		if seen.Has(key) {
			continue // providers may share definitions
		}
		seen.Insert(key)
		var value bytes.Buffer
		if err := encoder.Encode(o, &value); err != nil {
			return fmt.Errorf("encoding %s: %w", key, err)
		}
		if size+value.Len() > maxWrite || len(writes) == maxWrites {
			if err := commit(); err != nil {
				return err
			}
		}
		absent = append(absent, clientv3.Compare(clientv3.CreateRevision(key), "=", 0))
		writes = append(writes, clientv3.OpPut(key, value.String()))
		size += value.Len()
	}
	return commit()
}

// complete adds to a new object what the API server and its controllers add, and returns its key in the store.
func complete(o runtime.Object, now time.Time) (key string, err error) {
	m, err := meta.Accessor(o)
	if err != nil {
		return "", err
	}
	m.SetUID(uuid.NewUUID())
	m.SetGeneration(1)
	m.SetCreationTimestamp(metav1.NewTime(now))
	for i := range m.GetManagedFields() {
		m.GetManagedFields()[i].Time = new(metav1.NewTime(now))
	}
	switch o := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		establish(o, now)
		return "/registry/apiextensions.k8s.io/customresourcedefinitions/" + m.GetName(), nil
	case *admissionv1.ValidatingAdmissionPolicy:
		return "/registry/validatingadmissionpolicies/" + m.GetName(), nil
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return "/registry/validatingadmissionpolicybindings/" + m.GetName(), nil
	}
	return "", fmt.Errorf("%T cannot be an initial object", o)
}

// EstablishedLead is longer than the time for which the server delays the first objects of a kind after its definition is established.
const EstablishedLead = 3 * time.Second

// establish does what the controllers of definitions do with one whose names are free.
func establish(d *apiextensionsv1.CustomResourceDefinition, now time.Time) {
	d.Status.AcceptedNames = d.Spec.Names
	for _, v := range d.Spec.Versions {
		if v.Storage {
			d.Status.StoredVersions = []string{v.Name}
		}
	}
	apihelpers.SetCRDCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
		Reason: "NoConflicts", Message: "no conflicts found",
	})
	apihelpers.SetCRDCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-EstablishedLead)),
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted",
	})
}
