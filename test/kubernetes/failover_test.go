// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/kubernetes/cluster"
	"github.com/bowline-dev/bowline/test/plane"
)

// Whatever fails while many objects are created, each has one external resource in the end, and none is left when all are deleted (N87).
func TestFailuresDuringCreations_N87(t *testing.T) {
	w := newWorld(t)
	kill := func(f *failover) { f.do(f.leads.signal(syscall.SIGKILL)); f.takeover() }
	frozen := func(f *failover) {
		woken := f.leads.current.Load()
		f.do(f.leads.signal(syscall.SIGSTOP))
		f.takeover()
		f.allReady()
		f.do(f.leads.signal(syscall.SIGCONT))
		select {
		case <-woken.Exited(): // whatever it was about to send was sent
		case <-time.After(patience):
			f.t.Error("a process that woke without its lease does not end")
		}
	}
	type failure struct {
		name   string
		during func(*failover)
		ends   int32 // processes of the controllers
		limit  int32 // calls per second
	}
	const unlimited = 99
	all := []failure{
		{name: "the leader stops", during: func(f *failover) { f.do(f.leads.signal(syscall.SIGTERM)); f.takeover() }, ends: 1},
		{name: "the leader is killed", during: kill, ends: 1},
		{name: "an API server is killed", during: func(f *failover) { f.interrupt(0, w.APIServer[w.random.IntN(2)]) }},
		{name: "an etcd is killed", during: func(f *failover) { f.interrupt(0, w.Etcd[w.random.IntN(3)]) }},
		{name: "quorum is lost for 30 s", during: func(f *failover) { f.interrupt(30*time.Second, w.Etcd[0], w.Etcd[1]) }, ends: unlimited},
	}
	for i := range plane.Setting(t, "BOWLINE_FREEZES", 1) {
		name := "the leader is frozen past its lease " + fmt.Sprint(i+1)
		all = append(all, failure{name: name, during: frozen, ends: 1}, failure{name: name + ", with limits", during: frozen, ends: 1, limit: 40})
	}
	for _, tc := range all {
		t.Run(tc.name, func(t *testing.T) {
			f := &failover{world: w, t: t, objects: int(plane.Setting(t, "BOWLINE_OBJECTS", 200))}
			f.do(w.Restore()) // what a failed test left
			f.limit(tc.limit)
			before, err := w.holder(t.Context())
			f.do(err)
			f.leads = w.replica(t, "first")
			f.identity = w.leader(t, before)
			stands := w.replica(t, "second")
			var creations errgroup.Group
			creations.Go(f.create)
			f.awaitSome()
			f.begin = time.Now()
			tc.during(f)
			f.do(creations.Wait())
			f.allReady()
			f.judge()
			f.remove()
			ends := f.leads.ends.Load() + stands.ends.Load()
			t.Logf("%d processes ended", ends)
			if ends > tc.ends {
				t.Errorf("%d processes ended, want %d at most", ends, tc.ends)
			}
		})
	}
}

// A failover is one failure while objects are created.
type failover struct {
	*world

	t        *testing.T
	objects  int
	leads    *replica
	identity string // of it in the lease
	begin    time.Time
}

func (f *failover) do(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// limit sets the calls per second that the ProviderConfig allows, 0 for any number.
func (f *failover) limit(perSecond int32) {
	f.t.Helper()
	pc := &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	f.do(f.client.Get(f.t.Context(), client.ObjectKeyFromObject(pc), pc))
	pc.Spec.Limits = &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))}
	if perSecond > 0 {
		pc.Spec.Limits.CallsPerSecond = new(perSecond)
	}
	f.do(f.client.Update(f.t.Context(), pc))
}

// create creates the objects. It tries again what failed, since API servers are killed meanwhile.
func (f *failover) create() error {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for i := range f.objects {
		block := fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
		if err := testkit.Poll(ctx, func() error {
			err := f.client.Create(ctx, &networkv1alpha3.Network{
				ObjectMeta: metav1.ObjectMeta{Name: "net-" + strconv.Itoa(i)},
				Spec:       networkv1alpha3.NetworkSpec{ForProvider: networkv1alpha3.NetworkParameters{CIDRBlock: &block}},
			})
			return client.IgnoreAlreadyExists(err)
		}); err != nil {
			return err
		}
	}
	return nil
}

// awaitSome waits until some external resources exist, and fails if all do: then nothing is under way.
func (f *failover) awaitSome() {
	f.t.Helper()
	some, have := f.objects/20+f.random.IntN(max(1, f.objects*2/3)), map[types.UID]int{}
	plane.Eventually(f.t, patience, fmt.Sprintf("%d are created", some), func(ctx context.Context) (err error) {
		have, err = f.census(ctx)
		if err == nil && len(have) < some {
			err = fmt.Errorf("there are %d external resources", len(have))
		}
		return err
	})
	f.t.Logf("%d of %d external resources exist", len(have), f.objects)
	if len(have) >= f.objects {
		f.t.Fatal("all exist already: set BOWLINE_OBJECTS to more")
	}
}

// takeover waits until another process leads.
func (f *failover) takeover() {
	f.t.Helper()
	f.leader(f.t, f.identity)
	f.t.Logf("another process leads after %.1f s", time.Since(f.begin).Seconds())
}

// interrupt kills servers, and starts them again after a time, or when all objects are Ready without them.
func (f *failover) interrupt(lasts time.Duration, servers ...*cluster.Server) {
	f.t.Helper()
	for _, s := range servers {
		f.do(s.Kill())
	}
	if lasts > 0 {
		<-time.After(lasts)
	} else {
		f.allReady()
	}
	f.do(f.Restore())
}

func (f *failover) list(ctx context.Context) ([]networkv1alpha3.Network, error) {
	list := &networkv1alpha3.NetworkList{}
	err := f.client.List(ctx, list)
	return list.Items, err
}

func (f *failover) allReady() {
	f.t.Helper()
	plane.Eventually(f.t, patience, "all are Ready", func(ctx context.Context) error {
		all, err := f.list(ctx)
		if err != nil {
			return err
		}
		if len(all) < f.objects {
			return fmt.Errorf("%d objects are created", len(all))
		}
		for i := range all {
			if err := testkit.IsSettled(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
	f.t.Logf("all are Ready after %.1f s", time.Since(f.begin).Seconds())
}

func (f *failover) census(ctx context.Context) (map[types.UID]int, error) {
	all, err := f.project.Census(ctx)
	return all["network"], err
}

// judge counts objects and external resources.
func (f *failover) judge() {
	f.t.Helper()
	all, err := f.list(f.t.Context())
	f.do(err)
	var uids []types.UID
	for _, n := range all {
		uids = append(uids, n.UID)
	}
	have, err := f.census(f.t.Context())
	f.do(err)
	missing, superfluous := inspect.Compare(have, uids)
	f.t.Logf("%d objects, %d without an external resource, %d external resources beyond one for each", len(all), missing, superfluous)
	if len(all) != f.objects || missing+superfluous > 0 {
		f.t.Error("something is missing, doubled or left over")
	}
}

// remove deletes all objects, which leaves nothing.
func (f *failover) remove() {
	f.t.Helper()
	f.do(f.client.DeleteAllOf(f.t.Context(), &networkv1alpha3.Network{}))
	plane.Eventually(f.t, patience, "all are deleted", func(ctx context.Context) error {
		all, err := f.list(ctx)
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("%d objects are left", len(all))
		}
		return err
	})
	have, err := f.census(f.t.Context())
	f.do(err)
	if len(have) > 0 {
		f.t.Errorf("%d external resources are left", len(have))
	}
}
