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
	"crypto/sha256"
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

// annotationPrefix of the annotation of each part: the time, followed by ended if its controllers stopped then.
const (
	annotationPrefix = "heartbeat.bowline.dev/"
	ended            = " stopped"
)

const (
	interval       = 20 * time.Second
	patience       = 3 * interval // with controllers whose process is busy
	releaseTimeout = 2 * time.Second
)

// Add makes the controllers of a manager renew the Lease while they run, of several replicas only the leader. The parts are the names of
// their providers, with _SELECTOR for those that serve some ProviderConfigs only.
func Add(mgr ctrl.Manager, parts ...string) error { return mgr.Add(&beat{mgr, parts}) }

type beat struct {
	mgr   ctrl.Manager
	parts []string
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
	for _, part := range b.parts {
		annotations[annotationPrefix+part] = time.Now().UTC().Format(metav1.RFC3339Micro) + state
	}
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	lease.SetNamespace(Namespace)
	lease.SetName(Name)
	lease.SetAnnotations(annotations)
	parts := sha256.Sum256([]byte(strings.Join(b.parts, ",")))
	owner := client.FieldOwner(fmt.Sprintf("%s-%x", Name, parts[:4])) // of these annotations
	return b.mgr.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(lease), owner, client.ForceOwnership)
}

// A Stop describes controllers that do not run.
type Stop struct {
	Since     time.Time // when the last of them ran
	Providers []string  // whose controllers do not run, in order; PROVIDER_SELECTOR for those of a label selector
	All       bool      // nothing is reconciled
}

// String describes it as a sentence without its end.
func (s Stop) String() string {
	since := s.Since.Local().Format(time.DateTime)
	if s.All {
		return "No controllers have run since " + since + ": nothing is reconciled"
	}
	return fmt.Sprintf("No controllers of %s have run since %s: objects of these providers are not reconciled", strings.Join(s.Providers, ", "), since)
}

// Find returns the controllers that do not run and once did. Those that ended in order count only where no others of their provider run:
// the work was divided in another way.
func Find(lease *unstructured.Unstructured, now time.Time) (s Stop, found bool) {
	ran, inOrder, served := map[string]time.Time{}, map[string]bool{}, map[string]bool{}
	for name, value := range lease.GetAnnotations() {
		part, ours := strings.CutPrefix(name, annotationPrefix)
		text, stopped := strings.CutSuffix(value, ended)
		at, err := time.Parse(metav1.RFC3339Micro, text)
		switch {
		case !ours || err != nil:
		case stopped || now.Sub(at) > patience:
			ran[part], inOrder[part] = at, stopped
		default:
			served[providerOf(part)] = true
		}
	}
	for part, at := range ran {
		if inOrder[part] && served[providerOf(part)] {
			continue
		}
		s.Providers = append(s.Providers, part)
		if at.After(s.Since) {
			s.Since = at
		}
	}
	slices.Sort(s.Providers)
	s.All = len(served) == 0
	return s, len(s.Providers) > 0
}

func providerOf(part string) string {
	provider, _, _ := strings.Cut(part, "_") // which their names do not contain
	return provider
}
