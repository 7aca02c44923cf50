// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// pausedDeletions waits until condition DeletionsPaused of a configuration has a status.
func (s *stage) pausedDeletions(c resource.ProviderConfig, want corev1.ConditionStatus) xpv1.Condition {
	s.t.Helper()
	var got xpv1.Condition
	s.Eventually(s.t, fmt.Sprintf("DeletionsPaused of %s is %s", c.GetName(), want), func(ctx context.Context) error {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(c), c)
		if got = c.GetCondition(xpv1.TypeDeletionsPaused); err != nil || got.Status != want {
			return fmt.Errorf("%v, %+v", err, got)
		}
		return nil
	})
	return got
}

// waitDeleted waits until so many items report that their deletion is paused, and the others are deleted.
func waitDeleted[T resource.Managed](s *stage, items []T, paused int) {
	s.t.Helper()
	s.Eventually(s.t, fmt.Sprintf("%d deletions are paused", paused), func(ctx context.Context) error {
		waiting, left := 0, 0
		for _, i := range items {
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(i), i)
			if err == nil {
				left++
			}
			if err == nil && xpv1.FailureOf(i).Reason == failure.DeletionsPaused {
				waiting++
			}
		}
		if waiting != paused || left != paused {
			return fmt.Errorf("%d wait, %d exist", waiting, left)
		}
		return nil
	})
}

// A mass deletion is paused, stays so over a restart, and continues when a person resumes it.
func TestMassDeletion(t *testing.T) {
	t.Parallel()
	const most, all = 3, 8
	s := newStage(t)
	rarely := managed.WithPollInterval(time.Hour)
	stop := s.start(newProvider(s.journal.factory(0)), rarely)
	config, other := s.teamConfig("team"), s.teamConfig("other")
	config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(most))}
	s.Create(config, other)
	items := s.teamItems(all, "team")
	untouched := s.teamItem("untouched", "other")
	s.Create(untouched)
	allSettled(s, items)
	s.settled(untouched)
	for _, i := range items {
		s.Delete(i)
	}
	paused := s.pausedDeletions(config, corev1.ConditionTrue)
	failIf(t, "the configuration shows what to do (N39)", paused.Reason != xpv1.ReasonMassDeletion || !strings.Contains(paused.Message,
		"bowline resume-deletions providerconfig."+depotKinds().Namespaced.Group+"/"+config.Name+" -n "+s.Namespace), "%+v", paused)
	waitDeleted(s, items, all-most)
	failIf(t, "no more external resources are deleted than the limit permits (N39)", s.depot.itemCount() != all-most+1, "%d are left", s.depot.itemCount())
	t.Run("waiting objects warn (N39)", func(*testing.T) { s.warned("DeletionsPaused: Deletion is paused because more than 3") })
	s.Delete(untouched)
	t.Run("other configurations are not paused (N39)", func(t *testing.T) {
		s.Eventually(t, "deleted", testkit.Gone(s.Client, untouched))
	})

	stop()
	stop = s.start(newProvider(s.journal.factory(0)), rarely)
	passes := s.depot.allRequests()
	s.atLeast("requests of the new process", s.depot.allRequests, passes+all-most)
	waitDeleted(s, items, all-most)
	failIf(t, "the pause survives a restart (N39)", s.depot.itemCount() != all-most, "%d are left", s.depot.itemCount())

	s.Change(config, func() { meta.SetDeletionsResumed(config, "", time.Now().AddDate(36, 0, 0)) })
	s.Eventually(t, "the waiting objects report a time in the future (N39)", func(ctx context.Context) error {
		for _, i := range items {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(i), i); err == nil && !strings.Contains(i.GetCondition(xpv1.TypeSynced).Message, "has no effect") {
				return fmt.Errorf("%s: %+v", i.Name, i.GetCondition(xpv1.TypeSynced))
			}
		}
		return nil
	})
	failIf(t, "a time in the future resumes nothing (N39)", s.depot.itemCount() != all-most, "%d are left", s.depot.itemCount())

	s.Change(config, func() { meta.SetDeletionsResumed(config, "", time.Now().Add(time.Second)) })
	waitDeleted(s, items, 0)
	failIf(t, "what waited is deleted at once (N39)", s.depot.itemCount() != 0, "%d are left", s.depot.itemCount())
	resumed := s.pausedDeletions(config, corev1.ConditionFalse)
	failIf(t, "the configuration is released (N39)", resumed.Reason != xpv1.ReasonResumed, "%+v", resumed)
	stop()
}

// Deletions of the claims of one namespace are paused alone, unless too many of all namespaces are deleted.
func TestMassDeletionOfNamespace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	rarely := managed.WithPollInterval(time.Hour)
	stop := s.start(newProvider(s.journal.factory(0)), rarely)
	config := &kinds.ProviderConfig{ObjectMeta: s.Meta("", s.Prefix+"config"), Spec: s.spec("key")}
	config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(2))}
	s.Create(config)
	of := map[string][]*kinds.Item{}
	for namespace, n := range map[string]int{"a": 4, "b": 1, "c": 2, "": 2} {
		for i := range n {
			item := &kinds.Item{ObjectMeta: s.Meta("", fmt.Sprintf("%sitem%s-%d", s.Prefix, namespace, i))}
			item.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: config.Name}
			if namespace != "" {
				item.SetClaimReference(&corev1.ObjectReference{Namespace: namespace, Name: "claim"})
			}
			s.Create(item)
			of[namespace] = append(of[namespace], item)
		}
	}
	for _, items := range of {
		allSettled(s, items)
	}
	for _, i := range of["a"] {
		s.Delete(i)
	}
	paused := s.pausedDeletions(config, corev1.ConditionTrue)
	failIf(t, "the namespace is shown (N39)", len(config.Status.PausedDeletions) != 1 || config.Status.PausedDeletions[0].Namespace != "a" ||
		!strings.Contains(paused.Message, "More than 2 external resources were to be deleted within a minute in namespace a,"), "%+v", config.Status)
	waitDeleted(s, of["a"], 2)
	s.warned("To resume all deletions in namespace a: bowline resume-deletions providerconfig." + depotKinds().Cluster.Group + "/" + config.Name + " -n a")

	stop()
	s.start(newProvider(s.journal.factory(0)), rarely)
	s.Delete(of["b"][0])
	t.Run("other namespaces are not paused (N39)", func(*testing.T) { waitDeleted(s, of["b"], 0) })
	t.Run("the pause survives a restart (N39)", func(*testing.T) { waitDeleted(s, of["a"], 2) })
	s.Change(config, func() { meta.SetDeletionsResumed(config, "a", time.Now().Add(time.Second)) })
	t.Run("what waited is deleted at once (N39)", func(*testing.T) { waitDeleted(s, of["a"], 0) })
	s.pausedDeletions(config, corev1.ConditionFalse)
	failIf(t, "no namespace is shown any more (N39)", len(config.Status.PausedDeletions) > 0, "%+v", config.Status)

	for i, item := range append(of["c"], of[""]...) { // one of namespace b is counted, too
		s.Delete(item)
		if i < 3 {
			s.Eventually(t, "deleted", testkit.Gone(s.Client, item))
		}
	}
	paused = s.pausedDeletions(config, corev1.ConditionTrue)
	failIf(t, "too many in all pause all (N39)", len(config.Status.PausedDeletions) > 0 || !clients.PauseOf(config).Of("b") ||
		!strings.Contains(paused.Message, "More than 4 external resources were"), "%+v", config.Status)
	waitDeleted(s, of[""], 1)
}

// What a ProviderConfig stores decides which deletions are paused, also that of earlier versions, which list no namespaces.
func TestPauseOfNamespaces(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	since := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(d)) }
	a, b := xpv1.PausedNamespace{Namespace: "a", Since: since(0)}, xpv1.PausedNamespace{Namespace: "b", Since: since(time.Minute)}
	for name, tc := range map[string]struct {
		listed  []xpv1.PausedNamespace
		resumed map[string]time.Duration
		want    string // namespaces that are paused
		shown   corev1.ConditionStatus
	}{
		"all, without a list":                {nil, nil, "a b c", "True"},
		"all, but one that was resumed":      {nil, map[string]time.Duration{"a": 1}, "b c", "True"},
		"all, resumed":                       {nil, map[string]time.Duration{"": 1}, "", "False"},
		"those in the list":                  {[]xpv1.PausedNamespace{a, b}, nil, "a b", "True"},
		"those that were not resumed":        {[]xpv1.PausedNamespace{a, b}, map[string]time.Duration{"b": time.Minute}, "a", "True"},
		"those that were paused afterwards":  {[]xpv1.PausedNamespace{a, b}, map[string]time.Duration{"": time.Second}, "b", "True"},
		"none, if the only one was resumed":  {[]xpv1.PausedNamespace{a}, map[string]time.Duration{"a": 1}, "", "False"},
		"none, if all were resumed together": {[]xpv1.PausedNamespace{a, b}, map[string]time.Duration{"": time.Minute}, "", "False"},
	} {
		t.Run(name+" (N39)", func(t *testing.T) {
			config := &kinds.ClusterProviderConfig{}
			condition := xpv1.DeletionsPaused("Paused.")
			condition.LastTransitionTime = since(0)
			config.SetConditions(condition)
			config.SetPausedDeletions(tc.listed)
			for namespace, at := range tc.resumed {
				meta.SetDeletionsResumed(config, namespace, now.Add(at))
			}
			var got []string
			for _, namespace := range []string{"a", "b", "c"} {
				if clients.PauseOf(config).Of(namespace) {
					got = append(got, namespace)
				}
			}
			failIf(t, "paused", strings.Join(got, " ") != tc.want, "%q, want %q", got, tc.want)
			clients.EndPauses(config, schema.GroupVersionKind{Group: "g", Kind: "ClusterProviderConfig"})
			shown := config.GetCondition(xpv1.TypeDeletionsPaused)
			failIf(t, "the status shows it", shown.Status != tc.shown || tc.shown == "False" && len(config.GetPausedDeletions()) > 0 ||
				tc.want == "a" && !strings.Contains(shown.Message, " in namespace a, so"), "%+v", config.Status)
		})
	}
}

// A pause ends when the limit is lifted.
func TestLimitLifted(t *testing.T) {
	t.Parallel()
	config := &kinds.TeamProviderConfig{}
	config.SetConditions(xpv1.DeletionsPaused("Paused."))
	for most, want := range map[int32]bool{50: true, 0: false} {
		config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(most)}
		t.Run(fmt.Sprintf("%d per minute (N39)", most), func(t *testing.T) {
			if got := clients.PauseOf(config).Any(); got != want {
				t.Errorf("paused is %t", got)
			}
		})
	}
}

// Without a limit everything is deleted at once.
func TestNoBrake(t *testing.T) {
	t.Parallel()
	s := startStage(t)
	config := s.teamConfig("team")
	config.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))}
	s.Create(config)
	items := s.teamItems(60, "team")
	allSettled(s, items)
	for _, i := range items {
		s.Delete(i)
	}
	waitDeleted(s, items, 0)
	failIf(t, "deletions are not paused (N39)", config.GetCondition(xpv1.TypeDeletionsPaused).Reason != "", "%+v", config.Status)
}
