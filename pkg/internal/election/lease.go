// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package election is about the leases by which processes that run the same controllers agree which of them works: one for each provider,
// since a process may run some of them.
package election

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
)

// DefaultDuration of a lease, as in Kubernetes' own controllers, and the least one: shorter ones are lost whenever the API server is busy.
const (
	DefaultDuration = 15 * time.Second
	leastDuration   = 5 * time.Second
)

// Join makes the controllers of a manager run only while this process holds all leases of these names. The log says who else holds one.
// The leases are in the namespace of the pod, else in bowline-system. Without renewal for the duration, which is the same in all processes,
// another process takes over; the holder gives up before.
func Join(ctx context.Context, o *ctrl.Options, config *rest.Config, log logr.Logger, duration time.Duration, names ...string) (*Leases, error) {
	if duration < leastDuration {
		return nil, fmt.Errorf("--leader-elect-lease-duration must be at least %s", leastDuration)
	}
	namespace, err := namespaceOf(ctx, config)
	if err != nil {
		return nil, err
	}
	leases, err := newLeases(config, log, duration, namespace, names...)
	o.LeaderElection, o.LeaderElectionResourceLockInterface = true, leases
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(duration), new(duration*2/3), new(duration*2/15) // the proportions of Kubernetes
	// The process ends with the manager, so the next leader need not wait until the leases expire.
	o.LeaderElectionReleaseOnCancel = true
	return leases, err
}

// Leases are several leases as the lock of one leader election: a process holds all of them, or does not lead. So processes that run
// different sets of controllers exclude each other where the sets overlap. They know until when this process holds them.
type Leases struct {
	all      []*lease // in the same order in all processes, so that no two wait for each other
	duration time.Duration
	until    atomic.Pointer[time.Time] // nil: never held, or released
	log      logr.Logger
	holder   string // another one, that the log names
}

// A lease is one of them, as this process last read or wrote it.
type lease struct {
	resourcelock.Interface
	exists, held bool // held by this process
}

// newLeases returns the leases of these names, which this process does not hold yet.
func newLeases(config *rest.Config, log logr.Logger, duration time.Duration, namespace string, names ...string) (*Leases, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = duration / 3 // so that one lost answer does not cost the leases
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	identity := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	leases := &Leases{duration: duration, log: log}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, clients.CoreV1(), clients.CoordinationV1(), identity)
		if err != nil {
			return nil, fmt.Errorf("preparing lease %s: %w", name, err)
		}
		leases.all = append(leases.all, &lease{Interface: lock})
	}
	return leases, nil
}

// Get reads all leases. The record is that of the first that another process holds, else of the first that nobody holds, else of the first:
// by it the election decides whether the leases can be taken. The content is that of all, which the election waits for to stay as it is
// before it takes over: so it takes over only where no holder renews its lease.
func (l *Leases) Get(ctx context.Context) (first *resourcelock.LeaderElectionRecord, content []byte, missing error) {
	rank := func(r *resourcelock.LeaderElectionRecord) int {
		switch r.HolderIdentity {
		case l.Identity():
			return 0
		case "":
			return 1
		}
		return 2
	}
	for _, one := range l.all {
		record, raw, err := one.Get(ctx)
		one.exists, one.held = err == nil, err == nil && record.HolderIdentity == l.Identity()
		if apierrors.IsNotFound(err) {
			missing, record = err, &resourcelock.LeaderElectionRecord{}
		} else if err != nil {
			return nil, nil, err
		}
		content = append(append(content, raw...), 0)
		if first == nil || rank(record) > rank(first) {
			first = record
			l.noteHolder(one, record)
		}
	}
	if !slices.ContainsFunc(l.all, func(one *lease) bool { return one.exists }) {
		return nil, nil, missing
	}
	return first, content, nil
}

// noteHolder logs who holds a lease, if it is another process than before.
func (l *Leases) noteHolder(one *lease, record *resourcelock.LeaderElectionRecord) {
	if holder := record.HolderIdentity; holder != "" && holder != l.Identity() && holder != l.holder {
		l.holder = holder
		if l.until.Load() != nil {
			l.log.Info("Another process has taken over the lease, as while this one was frozen: this one changes nothing any more, and ends",
				"lease", one.Describe(), "holder", holder)
			return
		}
		l.log.Info("Standing by, since another process holds the lease", "lease", one.Describe(), "holder", holder)
	}
}

// Create stores the first record.
func (l *Leases) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

// Update stores a record in all leases: of an acquisition, the renewal, or the release. It also notes how long others wait if they see
// the record: counted from before the requests, which may take long.
func (l *Leases) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != l.Identity() {
		l.until.Store(nil) // before another process may take over
		return l.release(ctx, record)
	}
	until := time.Now().Add(l.duration)
	if err := l.storeAll(ctx, record); err != nil {
		if l.until.Load() == nil { // else the election tries again to renew all
			_ = l.release(ctx, resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1}) // without it they expire
		}
		return err
	}
	if l.until.Swap(&until) == nil {
		l.log.Info("This process holds the leases, and reconciles", "leases", l.Describe())
	}
	return nil
}

// storeAll acquires the leases one after the other, since another process may want them too, and renews them side by side.
func (l *Leases) storeAll(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	stores, ctx := errgroup.WithContext(ctx)
	if l.until.Load() == nil {
		stores.SetLimit(1)
	}
	for _, one := range l.all {
		stores.Go(func() error {
			if ctx.Err() != nil { // one before failed
				return ctx.Err()
			}
			return one.store(ctx, record)
		})
	}
	return stores.Wait()
}

// release stores a record without holder in those of the leases that this process holds.
func (l *Leases) release(ctx context.Context, record resourcelock.LeaderElectionRecord) (err error) {
	for _, one := range l.all {
		if one.held {
			err = errors.Join(err, one.store(ctx, record))
		}
	}
	return err
}

// store writes a record, on condition that the lease is as it was read.
func (l *lease) store(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	write := l.Create
	if l.exists {
		write = l.Interface.Update
	}
	err := write(ctx, record)
	if err == nil {
		l.exists, l.held = true, record.HolderIdentity == l.Identity()
	}
	return err
}

// RecordEvent satisfies resourcelock.Interface.
func (l *Leases) RecordEvent(text string) { l.all[0].RecordEvent(text) }

// Identity returns the name of this process in the leases.
func (l *Leases) Identity() string { return l.all[0].Identity() }

// Describe returns the names of the leases.
func (l *Leases) Describe() string {
	names := make([]string, 0, len(l.all))
	for _, one := range l.all {
		names = append(names, one.Interface.Describe())
	}
	return strings.Join(names, ",")
}

// Fence returns an error when other processes may hold a lease: they cannot know that this one was frozen and goes on.
func (l *Leases) Fence() error {
	if until := l.until.Load(); until == nil || fence.IsOver(*until) {
		return fence.Late("this process does not hold its leases any more")
	}
	return nil
}

// Namespace has the leases of processes that run in no pod.
const Namespace = "bowline-system"

// namespaceOf returns the namespace of the leases: the pod's own, or else bowline-system, which it creates if necessary. A
// process without the right to create namespaces runs in an existing one.
func namespaceOf(ctx context.Context, cfg *rest.Config) (string, error) {
	content, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	name := strings.TrimSpace(string(content))
	if err != nil || name == "" {
		name = Namespace
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return "", fmt.Errorf("creating client: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err = c.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		err = c.Create(ctx, namespace)
	}
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) {
		return name, nil
	}
	return "", fmt.Errorf("preparing namespace %s for the leases: %w", name, err)
}
