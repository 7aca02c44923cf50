// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unstructured holds managed resources of kinds that have no Go type, for example kinds that a bridge to another
// system learns at run time.
//
// A Managed is the object as its JSON stands in the API. It satisfies resource.Managed and the role interfaces by reading
// and writing the paths that the common spec and status of package apis/common/v1 have, whatever else the kind holds.
// Package managed reconciles such kinds as it does any other:
//
//	r := managed.NewReconciler(mgr, resource.ManagedKind(gvk),
//		managed.WithNewManaged(func() resource.Managed { return unstructured.New(gvk) }),
//		managed.WithClient(unstructured.NewClient(mgr.GetClient())),
//		managed.WithExternalConnecter(&connecter{}))
//	return ctrl.NewControllerManagedBy(mgr).Named(name).For(unstructured.New(gvk).GetUnstructured()).Complete(r)
//
// Caches know plain unstructured objects only: that is why a controller is told of those, and why NewClient is needed. A
// manager's client reads them from its cache only if manager.Options.Client.Cache.Unstructured is set.
package unstructured
