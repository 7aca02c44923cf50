// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package heartbeat lets commands know whether controllers run: the controllers note in a Lease, which teams may read, when each provider
// was served last.
//
//	heartbeat.Add(mgr, "", "core", "sql")            // in the controllers
//	stop, found := heartbeat.Find(lease, time.Now()) // in commands
package heartbeat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// annotationPrefix of the annotation of each provider, or part of one. The value is the time when its controllers ran, a state, and the label
// selector of the part, separated by semicolons.
const annotationPrefix = "heartbeat.bowline.dev/"

// States of controllers.
const (
	running = ""
	ended   = "stopped" // in order
)

const (
	interval       = 20 * time.Second
	patience       = 3 * interval // with controllers whose process is busy
	releaseTimeout = 2 * time.Second
)

// Add makes the controllers of some providers renew the Lease while they run, of several replicas only the leader. The label selector is
// that of their ProviderConfigs, empty for all.
func Add(mgr ctrl.Manager, selector string, providers ...string) error {
	return mgr.Add(&beat{mgr, selector, providers})
}

type beat struct {
	mgr       ctrl.Manager
	selector  string
	providers []string
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*beat) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. Controllers without the right to renew the Lease work all the same.
func (b *beat) Start(ctx context.Context) error {
	err, failed := b.renew(ctx, running), false
	if apierrors.IsNotFound(err) { // the namespace
		_ = b.mgr.GetClient().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}) // without it the Lease fails again
		err = b.renew(ctx, running)
	}
	for ticker := time.NewTicker(interval); ; err = b.renew(ctx, running) {
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
	annotations, part := map[string]string{}, ""
	if b.selector != "" {
		part = "_" + hash(b.selector)
	}
	for _, provider := range b.providers {
		annotations[annotationPrefix+provider+part] = strings.Join([]string{time.Now().UTC().Format(metav1.RFC3339Micro), state, b.selector}, ";")
	}
	lease := &unstructured.Unstructured{}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	lease.SetNamespace(Namespace)
	lease.SetName(Name)
	lease.SetAnnotations(annotations)
	owner := client.FieldOwner(Name + "-" + hash(fmt.Sprint(b.selector, b.providers))) // of these annotations
	return b.mgr.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(lease), owner, client.ForceOwnership)
}

// hash makes a part of a name.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// A Stop describes controllers that do not run.
type Stop struct {
	Since     time.Time // when the last of them ran
	Providers []string  // whose controllers do not run, in order; those of a label selector as PROVIDER (SELECTOR)
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

// A part is a provider, or its ProviderConfigs of a label selector.
type part struct {
	provider, selector string
	ran                time.Time
	state              string
}

// read returns the parts that the Lease knows.
func read(lease *unstructured.Unstructured) (all []part) {
	for name, value := range lease.GetAnnotations() {
		name, ours := strings.CutPrefix(name, annotationPrefix)
		fields := strings.SplitN(value, ";", 3)
		if !ours || len(fields) < 3 {
			continue
		}
		provider, _, _ := strings.Cut(name, "_") // which their names do not contain
		if at, err := time.Parse(metav1.RFC3339Micro, fields[0]); err == nil {
			all = append(all, part{provider: provider, selector: fields[2], ran: at, state: fields[1]})
		}
	}
	return all
}

// String names the part for people.
func (p part) String() string {
	if p.selector == "" {
		return p.provider
	}
	return p.provider + " (" + p.selector + ")"
}

// Find returns the controllers that do not run and once did: not those whose work others do. These are the ones of the whole provider, or,
// where the former ended in order, of any part of it, since the work was then divided in another way.
func Find(lease *unstructured.Unstructured, now time.Time) (s Stop, found bool) {
	whole, some := map[string]bool{}, map[string]bool{}
	var idle []part
	for _, p := range read(lease) {
		if p.state == ended || now.Sub(p.ran) > patience {
			idle = append(idle, p)
			continue
		}
		some[p.provider] = true
		whole[p.provider] = whole[p.provider] || p.selector == ""
	}
	for _, p := range idle {
		if whole[p.provider] || p.state == ended && some[p.provider] {
			continue
		}
		s.Providers = append(s.Providers, p.String())
		if p.ran.After(s.Since) {
			s.Since = p.ran
		}
	}
	slices.Sort(s.Providers)
	s.All = len(some) == 0
	return s, len(s.Providers) > 0
}
