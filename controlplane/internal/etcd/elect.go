// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"reflect"
	"time"
	"unsafe"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

const electionPoll = time.Millisecond // while the store starts

// elect has the single member elect itself as soon as it has applied its log. It would wait for others until its election timeout, which
// elects it if this fails.
//
// raft looks for configuration changes that are not applied before it holds an election, and panics if etcd has removed the beginning of the
// log meanwhile, as it may once it has applied it and before raft knows. So the state of raft counts, not that of etcd.
func (s *Store) elect() {
	server, tick := s.Etcd.Server, time.NewTicker(electionPoll)
	defer tick.Stop()
	node := raftOf(server)
	if node == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), electionLimit)
	defer cancel()
	for server.Leader() == 0 {
		select {
		case <-tick.C:
		case <-server.StopNotify():
			return
		case <-ctx.Done():
			return
		}
		if status := node.Status(); status.Applied == status.Commit && status.Commit > 0 {
			self := uint64(server.MemberID())
			_ = server.Process(ctx, raftpb.Message{Type: raftpb.MsgTimeoutNow, From: self, To: self})
		}
	}
}

// raftOf returns the node of a server, which etcd keeps to itself; nil if the field has another name in the linked version.
func raftOf(server *etcdserver.EtcdServer) raft.Node {
	node := reflect.ValueOf(server).Elem().FieldByName("r")
	if node.IsValid() && node.Kind() == reflect.Struct {
		node = node.FieldByName("Node")
	}
	if !node.IsValid() || node.Type() != reflect.TypeFor[raft.Node]() {
		return nil
	}
	return *(*raft.Node)(unsafe.Pointer(node.UnsafeAddr()))
}
