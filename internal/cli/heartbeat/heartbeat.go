// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat lets commands know whether controllers run: the controllers note in a Lease, which teams may read, when each provider
// was served last.
//
//	heartbeat.Add(mgr, "core", "sql")              // in the controllers
//	stop, found := heartbeat.Find(lease, time.Now()) // in commands
package heartbeat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The Lease of all controllers. Leader election has others, which only exist with several replicas.
const (
	Namespace = "bowline-system"
	Name      = "bowline-controllers-heartbeat"
)

// annotationPrefix of the annotation of each provider: the time, followed by ended if its controllers stopped then.
const (
	annotationPrefix = "heartbeat.bowline.dev/"
	ended            = " stopped"
)

const (
	interval       = 20 * time.Second
	patience       = 3 * interval // with controllers whose process is busy
	releaseTimeout = 2 * time.Second
)

// Add makes the controllers of a manager renew the Lease while they run, of several replicas only the leader.
func Add(mgr ctrl.Manager, providers ...string) error { return mgr.Add(&beat{mgr, providers}) }

type beat struct {
	mgr       ctrl.Manager
	providers []string
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*beat) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. Controllers without the right to renew the Lease work all the same.
func (b *beat) Start(ctx context.Context) error {
	err, failed := b.renew(ctx, ""), false
	if apierrors.IsNotFound(err) { // the namespace
		_ = b.mgr.GetClient().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}) // without it the Lease fails again
		err = b.renew(ctx, "")
	}
	for ticker := time.NewTicker(interval); ; err = b.renew(ctx, "") {
		if err != nil && !failed && ctx.Err() == nil {
			failed = true
			b.mgr.GetLogger().Info("Cannot renew the heartbeat: commands do not notice when the controllers stop", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
			defer cancel()
			_ = b.renew(last, ended) // else it expires
			return nil
		case <-ticker.C:
		}
	}
}

func (b *beat) renew(ctx context.Context, state string) error {
	annotations := map[string]string{}
	for _, provider := range b.providers {
		annotations[annotationPrefix+provider] = time.Now().UTC().Format(metav1.RFC3339Micro) + state
	}
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	lease.SetNamespace(Namespace)
	lease.SetName(Name)
	lease.SetAnnotations(annotations)
	owner := client.FieldOwner(Name + "-" + strings.Join(b.providers, "-")) // each owns the annotations of its providers
	return b.mgr.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(lease), owner, client.ForceOwnership)
}

// A Stop is that controllers do not run.
type Stop struct {
	Since     time.Time // when the last of them ran
	Providers []string  // whose controllers do not run, in order
	All       bool      // nothing is reconciled
}

// String describes it as a clause.
func (s Stop) String() string {
	since := s.Since.Local().Format(time.DateTime)
	if s.All {
		return "stopped since " + since + ": nothing is reconciled"
	}
	return fmt.Sprintf("of %s stopped since %s: objects that need them are not reconciled", strings.Join(s.Providers, ", "), since)
}

// Find returns the controllers that do not run and once did.
func Find(lease *unstructured.Unstructured, now time.Time) (s Stop, found bool) {
	s.All = true
	for name, value := range lease.GetAnnotations() {
		provider, ours := strings.CutPrefix(name, annotationPrefix)
		text, stopped := strings.CutSuffix(value, ended)
		since, err := time.Parse(metav1.RFC3339Micro, text)
		switch {
		case !ours || err != nil:
		case stopped || now.Sub(since) > patience:
			s.Providers = append(s.Providers, provider)
			if since.After(s.Since) {
				s.Since = since
			}
		default:
			s.All = false
		}
	}
	slices.Sort(s.Providers)
	return s, len(s.Providers) > 0
}
