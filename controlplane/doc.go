// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane runs a Kubernetes control plane inside one process: etcd, the generic API server (custom
// resources, RBAC, admission, secrets, events, leases; no pods, no nodes) and the few controllers without which its
// objects would not behave (garbage collection, namespaces, quotas, role aggregation, the root certificate).
//
// A Server has one lifetime. New has no side effects, Run does everything and leaves nothing behind but the data folder:
//
//	s, err := controlplane.New(controlplane.Config{DataDir: dir})
//	go func() { done <- s.Run(ctx) }()
//	<-s.Ready() // or done, if it did not start
//	c, err := client.New(s.RESTConfig(), client.Options{})
//
// Every Kubernetes client works against it unchanged. Kubernetes keeps some state per process (feature gates, metrics,
// its logger), so a process runs its servers one after another rather than side by side.
//
// Tests do not import this package, which would link an API server into every test binary: package
// controlplane/controlplanetest gives them a server of its own process.
package controlplane
