// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unstructured implements managed resources of kinds without a Go type, for example kinds that a bridge to another system
// discovers at run time.
//
// A Managed implements resource.Managed and the role interfaces by reading and writing the JSON paths of the common spec and status
// in package apis/common/v1. Package managed reconciles it like any other kind:
//
//	r := managed.NewReconciler(mgr, resource.ManagedKind(gvk),
//		managed.WithNewManaged(func() resource.Managed { return unstructured.New(gvk) }),
//		managed.WithClient(unstructured.NewClient(mgr.GetClient())),
//		managed.WithExternalConnecter(&connecter{}))
//	return ctrl.NewControllerManagedBy(mgr).Named(name).For(unstructured.New(gvk).GetUnstructured()).Complete(r)
//
// Caches only support plain unstructured objects, hence GetUnstructured and NewClient. A manager's client reads them from its cache
// only if manager.Options.Client.Cache.Unstructured is set.
package unstructured
