// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// stormTime bounds how long a storm of so many objects may last: one that stands still should end before people lose patience.
func stormTime(objects int) time.Duration {
	return 5*time.Minute + time.Duration(objects)*time.Second
}

// stormLife is the longest time between two kills of a storm, beside the start.
const stormLife = 5 * time.Second

// creators is how many objects are created at once.
const creators = 20

// weather is what the cloud does all the time: it throttles, to 50 calls per second for a thousand objects, and drops one
// answer in twenty after doing the work.
func (s *storm) weather() []sdk.FaultRule {
	return []sdk.FaultRule{{CallsPerSecond: max(10, float64(s.objects())/20)}, {DropRate: 0.05, Seed: uint64(s.killed)}}
}

// Many objects at once, a cloud that throttles and loses answers, and kills of the whole process: nothing is lost, doubled
// or forgotten. Then all are updated and deleted while the cloud is slow, fails and returns stale reads. BOWLINE_STORM_NETWORKS, BOWLINE_STORM_DATABASES and BOWLINE_STORM_KILLS are its size; `make storm` has a
// thousand objects and ten kills.
func TestStorm(t *testing.T) {
	t.Parallel()
	s := &storm{
		run:       newRun(t, "--cloud-admin"),
		networks:  int(plane.Setting(t, "BOWLINE_STORM_NETWORKS", 30)),
		databases: int(plane.Setting(t, "BOWLINE_STORM_DATABASES", 2)),
		kills:     int(plane.Setting(t, "BOWLINE_STORM_KILLS", 2)),
	}
	s.cloud, s.admin = s.p.ConnectEverywhere(t), s.p.Admin(t)
	s.do(s.admin.SetFaults(t.Context(), s.weather()...))
	s.begin = time.Now()
	s.createAll()
	s.logf("all %d objects are created", s.objects())
	for range s.kills {
		<-time.After(time.Duration(s.random.Int64N(int64(stormLife))))
		s.kill()
	}
	s.p.Eventually(t, stormTime(s.objects()), "all are Ready", s.allReady)
	took := time.Since(s.begin)
	s.note()
	s.do(s.admin.ClearFaults(t.Context()))
	s.judge("storm", took)
	t.Run("updated (R24, R36, R88)", s.updateAll)
	t.Run("deleted (R53, R54, R60)", s.deleteAll)
}

// A storm is what happens to one plane.
type storm struct {
	run

	cloud                      *inspect.Project
	admin                      *sdk.AdminClient
	networks, databases, kills int

	killed int
	calls  tally // before the last kill
}

// A tally of the cloud's calls.
type tally struct{ all, throttled, dropped, refused int }

func (s *storm) objects() int { return s.networks + s.databases }

// createAll creates all objects at once, the databases among the networks.
func (s *storm) createAll() {
	all := make([]client.Object, 0, s.objects())
	for i := range s.networks {
		block := fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
		all = append(all, &networkv1alpha3.Network{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("net-%d", i)},
			Spec:       networkv1alpha3.NetworkSpec{ForProvider: networkv1alpha3.NetworkParameters{CIDRBlock: &block}},
		})
	}
	for i := range s.databases {
		all = append(all, plane.Database(fmt.Sprintf("db-%d", i), 20))
	}
	s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s.do(each(all, func(o client.Object) error { return s.p.Client.Create(s.t.Context(), o) }))
}

// worsen has the cloud answer late, with errors, with old states, or not at all, until its faults are cleared.
func (s *storm) worsen() {
	<-time.After(2 * time.Second) // what was found once must not be missing in a stale read (N20)
	s.do(s.admin.SetFaults(s.t.Context(), sdk.FaultRule{ErrorRate: 0.05, DropRate: 0.05, Latency: "200ms", StaleReads: "2s", Seed: 1}))
}

// updateAll changes all objects, and checks that the cloud has every change.
func (s *storm) updateAll(t *testing.T) {
	s.worsen()
	v, err := s.list(t.Context())
	s.do(err)
	s.do(each(v.all, func(o resource.Managed) error {
		change := `{"spec":{"forProvider":{"description":"changed"}}}`
		if _, ok := o.(*databasev1alpha3.FavouriteDBInstance); ok {
			change = `{"spec":{"forProvider":{"fancinessLevel":30}}}`
		}
		return s.p.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(change)))
	}))
	s.p.Eventually(t, stormTime(s.objects()), "all are updated", s.allReady)
	s.do(s.admin.ClearFaults(t.Context()))
	networks, err := s.cloud.Networks.List(t.Context(), nil)
	if err != nil || slices.ContainsFunc(networks, func(n network.Network) bool { return n.Description != "changed" }) {
		t.Errorf("not all networks are updated: %v, %+v", err, networks)
	}
	for i := range s.databases { // Ready of a moment ago may be that of before the update, which restarts the server
		s.p.Eventually(t, stormTime(s.objects()), "the updated database works", func(ctx context.Context) error {
			return s.p.Works(ctx, fmt.Sprintf("db-%d", i))
		})
	}
	s.judge("updated", time.Since(s.begin))
}

// deleteAll deletes all objects, and checks that nothing is left of them.
func (s *storm) deleteAll(t *testing.T) {
	s.worsen()
	v, err := s.list(t.Context())
	s.do(err)
	s.do(each(v.all, func(o resource.Managed) error { return s.p.Client.Delete(t.Context(), o) }))
	s.p.Eventually(t, stormTime(s.objects()), "all are deleted", func(ctx context.Context) error {
		pause(ctx)
		v, err := s.list(ctx)
		if err == nil && len(v.all) > 0 {
			err = fmt.Errorf("%d objects are left, such as %s", len(v.all), v.waiting)
		}
		return err
	})
	s.do(s.admin.ClearFaults(t.Context()))
	have, err := s.cloud.All(t.Context())
	if servers := s.p.Servers(t); err != nil || len(have) > 0 || len(servers) > 0 {
		t.Errorf("%v; external resources %v and servers %v are left", err, have, servers)
	}
}

// kill kills the whole process and starts it again. The cloud forgets its faults then, so they are set again at once.
func (s *storm) kill() {
	s.note()
	before, err := s.list(s.t.Context())
	s.do(err)
	s.p.Kill(s.t)
	s.killed++
	s.logf("kill %d: %s, %s", s.killed, before, s.calls)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	disturbed := make(chan error, 1)
	go func() { disturbed <- s.disturb(ctx) }()
	s.logf("up again after %.1f s", s.p.Up(s.t).Seconds())
	s.do(<-disturbed)
}

// disturb sets the weather as soon as the cloud listens.
func (s *storm) disturb(ctx context.Context) error {
	for {
		err := s.admin.SetFaults(ctx, s.weather()...)
		if err == nil || ctx.Err() != nil {
			return err
		}
		<-time.After(5 * time.Millisecond)
	}
}

// note adds the calls since the last start, which the cloud forgets when it is killed.
func (s *storm) note() {
	stats, err := s.admin.Stats(s.t.Context())
	s.do(err)
	s.calls = s.calls.plus(stats)
}

func (c tally) plus(stats sdk.Stats) tally {
	return tally{
		all:       c.all + stats.Count("", "", ""),
		throttled: c.throttled + stats.Count("", "", sdk.OutcomeThrottled),
		dropped:   c.dropped + stats.Count("", "", sdk.OutcomeDropped),
		refused:   c.refused + stats.Count("", "", sdk.OutcomeRefused),
	}
}

func (c tally) String() string {
	return fmt.Sprintf("%d API calls (%d throttled, %d answers dropped, %d refused)", c.all, c.throttled, c.dropped, c.refused)
}

// A view of all objects.
type view struct {
	all                 []resource.Managed
	networks, databases []types.UID
	ready, synced       int
	waiting             string // why one is not both
}

func (s *storm) list(ctx context.Context) (v view, err error) {
	networks, databases := &networkv1alpha3.NetworkList{}, &databasev1alpha3.FavouriteDBInstanceList{}
	if err := errors.Join(s.p.Client.List(ctx, networks), s.p.Client.List(ctx, databases)); err != nil {
		return v, err
	}
	for i := range networks.Items {
		v.networks = append(v.networks, networks.Items[i].UID)
		v.add(&networks.Items[i])
	}
	for i := range databases.Items {
		v.databases = append(v.databases, databases.Items[i].UID)
		v.add(&databases.Items[i])
	}
	return v, nil
}

func (v view) String() string {
	return fmt.Sprintf("%d of %d ready, %d synced", v.ready, len(v.networks)+len(v.databases), v.synced)
}

func (v *view) add(mg resource.Managed) {
	v.all = append(v.all, mg)
	ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
	if ready.Status == corev1.ConditionTrue {
		v.ready++
	}
	isSynced := synced.Status == corev1.ConditionTrue && synced.ObservedGeneration == mg.GetGeneration()
	if isSynced {
		v.synced++
	}
	if isSynced && ready.Status == corev1.ConditionTrue {
		return
	}
	v.waiting = fmt.Sprintf("%T %s: Ready %s %q, Synced %s %q", mg, mg.GetName(), ready.Reason, ready.Message, synced.Reason, synced.Message)
}

// allReady waits a second, since it lists all objects and the machine has other work.
func (s *storm) allReady(ctx context.Context) error {
	pause(ctx)
	v, err := s.list(ctx)
	if err != nil {
		return err
	}
	if v.ready == s.objects() && v.synced == s.objects() {
		return nil
	}
	stats, err := s.admin.Stats(ctx)
	if err != nil {
		return err
	}
	s.progress(func() string { return fmt.Sprintf("%s, %s", v, s.calls.plus(stats)) })
	return fmt.Errorf("%s; one that is not: %s", v, v.waiting)
}

// judge counts what the cloud holds, opens every database with the password of its Secret, and sums up.
func (s *storm) judge(what string, took time.Duration) {
	s.t.Helper()
	v, err := s.list(s.t.Context())
	s.do(err)
	have, err := s.cloud.Census(s.t.Context())
	s.do(err)
	missingNetworks, doubleNetworks := inspect.Compare(have["network"], v.networks)
	missingDatabases, doubleDatabases := inspect.Compare(have["database"], v.databases)
	missing, double := missingNetworks+missingDatabases, doubleNetworks+doubleDatabases
	opened := 0
	for i := range s.databases {
		if err := s.p.Works(s.t.Context(), fmt.Sprintf("db-%d", i)); err != nil {
			s.t.Errorf("database %d: %v", i, err)
		} else {
			opened++
		}
	}
	networks, databases := len(v.networks)-missingNetworks+doubleNetworks, len(v.databases)-missingDatabases+doubleDatabases
	s.logf("%s", s.calls)
	fmt.Fprintf(s.t.Output(), "%s: %d of %d ready, networks=%d databases=%d duplicates=%d missing=%d passwords=%d/%d, %d kills, %.0f s\n",
		what, v.ready, s.objects(), networks, databases, double, missing, opened, s.databases, s.killed, took.Seconds())
	if v.ready != s.objects() || networks != s.networks || databases != s.databases || missing+double > 0 {
		s.t.Error("the storm left damage")
	}
}
