// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds knows which kinds an API server serves, and which custom kinds are in use.
package kinds

import (
	"context"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
)

// groups are the built-in groups; custom resource definitions and API services bring their own.
func groups() []schema.GroupVersion {
	return []schema.GroupVersion{
		corev1.SchemeGroupVersion,
		admissionregistrationv1.SchemeGroupVersion,
		authenticationv1.SchemeGroupVersion,
		authorizationv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		eventsv1.SchemeGroupVersion,
		rbacv1.SchemeGroupVersion,
	}
}

// Served enables whole groups, except admission policies that mutate and what only pods and nodes need.
func Served() *serverstorage.ResourceConfig {
	c := serverstorage.NewResourceConfig()
	c.EnableVersions(groups()...)
	for _, name := range []string{
		"pods", "services", "persistentvolumeclaims", "replicationcontrollers", "nodes", "endpoints", "limitranges",
	} {
		c.DisableResources(corev1.SchemeGroupVersion.WithResource(name))
	}
	for _, name := range []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"} {
		c.DisableResources(admissionregistrationv1.SchemeGroupVersion.WithResource(name))
	}
	return c
}

// IsCustom reports whether a group is not one of Kubernetes' own, of which the server has caches anyway.
func IsCustom(group string) bool {
	if group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" {
		return false
	}
	return !slices.ContainsFunc(groups(), func(gv schema.GroupVersion) bool { return gv.Group == group })
}

// A Signal is set until the next Wait, however often it is set.
type Signal chan struct{}

// NewSignal returns a signal that is set.
func NewSignal() Signal {
	s := make(Signal, 1)
	s.Set()
	return s
}

// Set lets the next Wait return at once.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Wait returns when the signal is set, at the latest after a timeout or when ctx ends.
func (s Signal) Wait(ctx context.Context, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-s:
	case <-timer.C:
	case <-ctx.Done():
	}
}
