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
// A target is a request, and the managed resource decides (N27): it allows a namespace if a claim of that namespace is bound to it,
// or if its annotation bowline.dev/allowed-namespaces lists the namespace. A pass is a short list of steps, see lifecycle: find the
// managed resource, check its consent and its Secret, name the copy, and have package connection/copies create that. A pass may stop
// anywhere and be repeated.
//
// # What is written
//
// The copy, which the target controls (R302), and on the source only the annotation that names the copy. Never the managed resource
// (R305). Package secret carries later changes of the source to the copy, and reverts edits of the copy (R298, R306).
//
// # When it ends
//
// When consent is withdrawn, or the target is deleted, consent to all Secrets of the namespace is revoked on the source and then the
// copy is deleted, also where it was to be orphaned. Claims and other targets of the namespace get consent again. A managed resource
// that is lost leaves the copy as it is, and so does one that publishes anew without what only its creation returned: the target
// reports that.
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
// It watches targets only and reads everything else within the poll interval; SetupWithManager watches all of it.
//
// # Access
//
// The manager's cache should have managed.CacheOptions, so that it holds connection Secrets only (N30). The controller needs the
// verbs get, list, watch and patch on targets, patch on their statuses, get, list and watch on the managed kinds, and get, list,
// watch, create, patch and delete on Secrets.
package target
