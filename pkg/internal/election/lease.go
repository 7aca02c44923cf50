// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package election is about the lease by which the processes that run the same controllers agree which of them works.
package election

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
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

// How the processes that share a lease agree, in the values of Kubernetes' own controllers.
const (
	duration      = 15 * time.Second // without renewal until another process takes over
	renewDeadline = 10 * time.Second // of the holder, until it gives up
)

// Join makes the controllers of a manager run only while this process holds the lease. The log says who holds it. The lease is in the
// namespace of the pod, else in bowline-system.
func Join(ctx context.Context, o *ctrl.Options, config *rest.Config, log logr.Logger, name string) (*Lease, error) {
	namespace, err := namespaceOf(ctx, config)
	if err != nil {
		return nil, err
	}
	lease, err := newLease(config, log, namespace, name)
	o.LeaderElection, o.LeaderElectionResourceLockInterface = true, lease
	o.LeaseDuration, o.RenewDeadline = new(duration), new(renewDeadline)
	// The process ends with the manager, so the next leader need not wait until the lease expires.
	o.LeaderElectionReleaseOnCancel = true
	return lease, err
}

// A Lease is the lock of a leader election that knows until when this process holds it.
type Lease struct {
	resourcelock.Interface
	until  atomic.Pointer[time.Time] // nil: never held, or released
	log    logr.Logger
	holder string // another one, that the log names
}

// newLease returns the lease of a name, which this process does not hold yet.
func newLease(config *rest.Config, log logr.Logger, namespace, name string) (*Lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = renewDeadline / 2 // so that one lost answer does not cost the lease
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, clients.CoreV1(), clients.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, fmt.Errorf("preparing lease %s: %w", name, err)
	}
	return &Lease{Interface: lock, log: log.WithValues("lease", namespace+"/"+name)}, nil
}

// Get reads the record.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() && record.HolderIdentity != l.holder {
		l.holder = record.HolderIdentity
		l.log.Info("Standing by, since another process holds the lease", "holder", l.holder)
	}
	return record, raw, err
}

// Create stores the first record.
func (l *Lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.store(ctx, record, l.Interface.Create)
}

// Update stores a record: of the renewal, or of the release.
func (l *Lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.store(ctx, record, l.Interface.Update)
}

// store also notes how long others wait if they see the record: counted from before the request, which may have taken long.
func (l *Lease) store(ctx context.Context, record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	if record.HolderIdentity != l.Identity() {
		l.until.Store(nil) // before another process may take over
		return write(ctx, record)
	}
	until := time.Now().Add(duration)
	err := write(ctx, record)
	if err == nil && l.until.Swap(&until) == nil {
		l.log.Info("This process holds the lease, and reconciles")
	}
	return err
}

// Fence returns an error when other processes may hold the lease: they cannot know that this one was frozen and goes on.
func (l *Lease) Fence() error {
	if until := l.until.Load(); until == nil || fence.IsOver(*until) {
		return fence.Late("this process does not hold its lease any more")
	}
	return nil
}

// namespaceOf returns the namespace of the lease: the pod's own, or else bowline-system, which it creates if necessary. A
// process without the right to create namespaces runs in an existing one.
func namespaceOf(ctx context.Context, cfg *rest.Config) (string, error) {
	content, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	name := strings.TrimSpace(string(content))
	if err != nil || name == "" {
		name = "bowline-system"
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
	return "", fmt.Errorf("preparing namespace %s for the lease: %w", name, err)
}
