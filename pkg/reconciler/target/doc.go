// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package target gives targets copies of the connection Secrets of managed resources.
//
//	return target.NewReconciler(mgr,
//		resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind),
//		resource.ManagedKind{}).SetupWithManager(mgr)
//
// # The one idea
//
// A target is a request, and the managed resource decides (N27): it lets a namespace have its connection Secret if a claim of
// that namespace is bound to it, or if its annotation bowline.dev/allowed-namespaces lists the namespace. A pass is a short list
// of steps, see lifecycle: find the managed resource, ask whether it consents, find its Secret, copy that, and let both Secrets
// agree that changes go on. Each step lives in the file of its name; settle alone writes conditions and events. Passes may stop
// anywhere and be repeated.
//
// # What is written
//
// The copy, which the target controls (R302), and on the original only the annotation that names the copy. Never the managed
// resource (R305). Later changes of the original, and edits of the copy, are for package secret (R298, R306).
//
// # When it ends
//
// Consent that is withdrawn takes the copy along: first the original forgets everybody in the namespace, so that nothing goes
// on to what somebody may have made of the copy, then the copy is deleted. A target that is deleted does the same, also where
// its copy is to be orphaned: claims and other targets of the namespace agree with the original anew. A managed resource that
// is lost leaves the copy as it is; a connection Secret that is published anew without what only the creation told takes
// nothing from the copy, and the target says so.
//
// # One controller for all kinds
//
// With an empty managed kind, as above, one controller serves all managed kinds that are in the manager's scheme, and watches
// one as soon as a target names it. A provider may instead add a controller for one of its kinds, as the guides do it:
//
//	kind := resource.ManagedKind(v1.ClusterGroupVersionKind)
//	return builder.ControllerManagedBy(mgr).
//		Named(target.ControllerName(kind)).
//		For(&workloadv1alpha1.KubernetesTarget{}).
//		WithEventFilter(resource.NewPredicates(resource.HasManagedResourceReferenceKind(kind))).
//		Complete(target.NewReconciler(mgr, resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind), kind))
//
// It watches targets only and looks at everything else within the poll interval; SetupWithManager watches all of it.
//
// # Access
//
// The manager's cache should have managed.CacheOptions, so that it holds connection Secrets only (N30). The controller needs the
// verbs get, list, watch and patch on targets, patch on their statuses, get, list and watch on the managed kinds, and get, list,
// watch, create, patch and delete on Secrets.
package target
