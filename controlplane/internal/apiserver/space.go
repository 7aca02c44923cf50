// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Free space on the disk of the store below which requests are refused. The store ends at the first write that fails, and with it the
// process; the rest is for what the server writes without a request of a user, for deletions, and for the servers of the local cloud.
const (
	SpaceForCreate      = 256 << 20
	spaceForUpdate      = SpaceForCreate / 2
	spaceForControllers = SpaceForCreate / 4 // for their updates: a deletion may wait for the status of another object
)

// diskSpace refuses writes while the disk is nearly full. Deletions, and what they need, are permitted, since they may free some.
type diskSpace struct {
	free        func() (uint64, error)
	controllers string // user name
	log         logr.Logger
	low         atomic.Bool
}

func (*diskSpace) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

func (d *diskSpace) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isStored(a) {
		return nil
	}
	free, err := d.free()
	if err != nil { // if the disk is broken, the write itself fails with the cause
		return nil
	}
	if low := free < SpaceForCreate; d.low.Swap(low) != low {
		if low {
			d.log.Error(nil, "The disk of the data folder is nearly full: new objects are refused until there is room", "freeMegabytes", free>>20,
				"neededMegabytes", SpaceForCreate>>20)
		} else {
			d.log.Info("The disk of the data folder has room again", "freeMegabytes", free>>20)
		}
	}
	needed, write := uint64(SpaceForCreate), "create"
	if a.GetOperation() == admission.Update {
		needed, write = spaceForUpdate, "change"
		if a.GetUserInfo().GetName() == d.controllers {
			needed = spaceForControllers
		}
	}
	if free >= needed || isExempt(a) {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: "InsufficientStorage",
		Message: fmt.Sprintf("the disk of Bowline's data folder is nearly full: to %s objects it needs %d MB of free space, and has %d MB. Free "+
			"some space; nothing needs to be restarted", write, needed>>20, free>>20),
	}}
}

// isStored is false for requests that only get an answer.
func isStored(a admission.Attributes) bool {
	group := a.GetResource().Group
	return !a.IsDryRun() && group != authenticationv1.GroupName && group != authorizationv1.GroupName && a.GetSubresource() != "token"
}

// isExempt is true for what the server itself writes, for Leases, without which controllers end, for objects that are being deleted, for
// metadata of custom kinds, since deletions are permitted and resumed by annotations, and for what changes nothing and is not written,
// such as what each start applies.
func isExempt(a admission.Attributes) bool {
	if a.GetResource().Group == coordinationv1.GroupName || a.GetUserInfo().GetName() == user.APIServerUser {
		return true
	}
	if a.GetOperation() != admission.Update {
		return false
	}
	old, err := meta.Accessor(a.GetOldObject())
	if err != nil {
		return false
	}
	return old.GetDeletionTimestamp() != nil || changesMetadataOnly(a.GetOldObject(), a.GetObject()) ||
		equality.Semantic.DeepEqual(unmanaged(a.GetOldObject()), unmanaged(a.GetObject()))
}

// unmanaged returns a copy of an object without its field managers, of which the first apply of an object without any adds one.
func unmanaged(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	if of, err := meta.Accessor(o); err == nil {
		of.SetManagedFields(nil)
	}
	return o
}

func changesMetadataOnly(before, after runtime.Object) bool {
	old, ok := before.(*unstructured.Unstructured)
	changed, custom := after.(*unstructured.Unstructured)
	if !ok || !custom {
		return false
	}
	content, wanted := maps.Clone(old.Object), maps.Clone(changed.Object)
	delete(content, "metadata")
	delete(wanted, "metadata")
	return equality.Semantic.DeepEqual(content, wanted)
}
