// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat lets commands know whether controllers run: the controllers renew a Lease, which teams may read.
//
//	heartbeat.Add(mgr)                                   // in the controllers
//	since, stopped := heartbeat.Stopped(lease, time.Now()) // in commands
package heartbeat

import (
	"context"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Lease of the controllers. Leader election has one of its own, which only exists with several replicas.
const (
	Namespace = "bowline-system"
	Name      = "bowline-controllers-heartbeat"
)

const (
	interval       = 20 * time.Second
	leaseDuration  = 3 * interval // with controllers whose process is busy
	releaseTimeout = 2 * time.Second
)

// Add makes the controllers of a manager renew the Lease while they run, of several replicas only the leader.
func Add(mgr ctrl.Manager) error { return mgr.Add(&beat{mgr}) }

type beat struct{ mgr ctrl.Manager }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*beat) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. Controllers without the right to renew the Lease work all the same.
func (b *beat) Start(ctx context.Context) error {
	host, _ := os.Hostname() // for people
	holder, failed := fmt.Sprintf("%s/%d", host, os.Getpid()), false
	err := b.renew(ctx, holder)
	if apierrors.IsNotFound(err) { // the namespace
		_ = b.mgr.GetClient().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}) // without it the Lease fails again
		err = b.renew(ctx, holder)
	}
	for ticker := time.NewTicker(interval); ; err = b.renew(ctx, holder) {
		if err != nil && !failed && ctx.Err() == nil {
			failed = true
			b.mgr.GetLogger().Info("Cannot renew the heartbeat: commands do not notice when the controllers stop", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			_ = b.renew(last, "") // else it expires
			return nil
		case <-ticker.C:
		}
	}
}

func (b *beat) renew(ctx context.Context, holder string) error {
	lease := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"holderIdentity":       holder,
		"leaseDurationSeconds": int64(leaseDuration / time.Second),
		"renewTime":            time.Now().UTC().Format(metav1.RFC3339Micro),
	}}}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	lease.SetNamespace(Namespace)
	lease.SetName(Name)
	return b.mgr.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(lease), client.FieldOwner(Name), client.ForceOwnership)
}

// Stopped returns since when no controllers run, if that is so.
func Stopped(lease *unstructured.Unstructured, now time.Time) (since time.Time, stopped bool) {
	text, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	since, err := time.Parse(metav1.RFC3339Micro, text)
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	return since, err == nil && (holder == "" || now.Sub(since) > leaseDuration)
}
