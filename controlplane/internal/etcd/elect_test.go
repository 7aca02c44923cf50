// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// TestElection starts a store again and again while the machine is busy. Its log has so many entries that etcd removes the first ones as
// soon as it has applied them, before raft knows.
func TestElection(t *testing.T) {
	dir := t.TempDir()
	start := func() *Store {
		s, err := Start(t.Context(), dir, true, logr.Discard())
		must(t, err)
		if raftOf(s.Etcd.Server) == nil {
			t.Fatal("etcd has renamed its raft node: every start waits for the election timeout")
		}
		must(t, s.WaitReady(t.Context()))
		return s
	}
	s := start()
	for n := range 150 {
		_, err := s.Etcd.Server.Put(t.Context(), &etcdserverpb.PutRequest{Key: fmt.Appendf(nil, "/registry/%d", n), Value: []byte("{}")})
		must(t, err)
	}
	must(t, s.Stop())
	for range 2 * runtime.GOMAXPROCS(0) {
		go func() {
			for t.Context().Err() == nil {
			}
		}()
	}
	for range 10 {
		begin := time.Now()
		s := start()
		if took := time.Since(begin); took > electionLimit {
			t.Errorf("a start took %s", took)
		}
		must(t, s.Stop())
	}
}
