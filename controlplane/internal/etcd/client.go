// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/utils/clock"
)

// compactInterval is how old a revision is when it is removed, as Kubernetes has it: that long, a watch can go on where it ended.
const compactInterval = 5 * time.Minute

// A compactor removes old revisions until the store is stopped.
type compactor interface {
	etcd3.Compactor
	Stop()
}

// NewClient returns a client that calls the store without a connection.
func (s *Store) NewClient() *kubernetes.Client {
	client := &kubernetes.Client{Client: v3client.New(s.Etcd.Server)}
	client.Kubernetes = client
	return client
}

// Compactor returns what removes old revisions.
func (s *Store) Compactor() etcd3.Compactor { return s.compactor }

// maintain begins to remove old revisions.
func (s *Store) maintain() {
	s.client = s.NewClient()
	s.compactor = etcd3.NewCompactor(s.client.Client, compactInterval, clock.RealClock{}, nil)
}
