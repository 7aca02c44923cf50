// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	registry, registryEnd = "/registry/", "/registry0"
	page                  = 500 // keys that are read at once

	// revisionBump is more than a store writes in a day. Clients compare revisions, which must not decrease in a restore.
	revisionBump = 10_000_000
)

// Client is a connection to the store of a running server on this machine.
type Client struct {
	socket Store
	config clientv3.Config
}

// NewClient returns a client of the store of a data folder.
func NewClient(dataDir string) (*Client, error) {
	c := &Client{}
	if err := c.socket.openSocket(dataDir); err != nil {
		return nil, err
	}
	c.config = clientv3.Config{Endpoints: []string{c.socket.Endpoint()}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()}
	return c, nil
}

// Close closes the client.
func (c *Client) Close() error { return c.socket.closeFolder() }

// Snapshot writes the store, as it is now, to a new file. Etcd appends a checksum.
func (c *Client) Snapshot(ctx context.Context, path string) error {
	_, err := snapshot.NewV3(zap.NewNop()).Save(ctx, c.config, path)
	return err
}

// A Survivor is an object that exists and is not being deleted.
type Survivor struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"` // of its creation
}

// Survivors writes the objects of the store as lines of JSON.
func (c *Client) Survivors(ctx context.Context, w io.Writer) error {
	client, err := clientv3.New(c.config)
	if err != nil {
		return err
	}
	defer client.Close()
	encoder, begin := json.NewEncoder(w), registry
	for more := true; more; {
		found, err := client.Get(ctx, begin, clientv3.WithRange(registryEnd), clientv3.WithLimit(page))
		if err != nil {
			return fmt.Errorf("reading objects: %w", err)
		}
		for _, kv := range found.Kvs {
			begin = string(kv.Key) + "\x00"
			if o, _ := decodeObject(kv.Value); o != nil && o.GetDeletionTimestamp() != nil {
				continue
			}
			if err := encoder.Encode(Survivor{Key: string(kv.Key), Revision: kv.CreateRevision}); err != nil {
				return err
			}
		}
		more = found.More
	}
	return nil
}

// definitions encodes the only built-in kind whose finalizers count here: without a definition, nothing serves its objects.
var definitions = func() *protobuf.Serializer {
	types := runtime.NewScheme()
	utilruntime.Must(apiextensionsv1.AddToScheme(types))
	return protobuf.NewSerializer(types, types)
}()

// decodeObject returns an object of a custom kind, which are stored as JSON, or a definition, and how it is stored; nil for others.
func decodeObject(value []byte) (client.Object, func() ([]byte, error)) {
	if bytes.HasPrefix(value, []byte("{")) {
		o := &unstructured.Unstructured{}
		if json.Unmarshal(value, &o.Object) != nil {
			return nil, nil
		}
		return o, func() ([]byte, error) { return json.Marshal(o.Object) }
	}
	decoded, _, err := definitions.Decode(value, nil, nil)
	definition, ok := decoded.(*apiextensionsv1.CustomResourceDefinition)
	if err != nil || !ok {
		return nil, nil
	}
	return definition, func() ([]byte, error) {
		var stored bytes.Buffer
		err := definitions.Encode(definition, &stored)
		return stored.Bytes(), err
	}
}

// Restore creates the store of a data folder from a snapshot. Objects of it that did not survive the backup are deleted again, by their
// controllers if these have finalizers: what they stand for may be missing in the data that was copied after the snapshot.
func Restore(ctx context.Context, dataDir, from string, survivors io.Reader) error {
	setLogFileSize()
	err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: from, Name: "default", OutputDataDir: filepath.Join(dataDir, "etcd"),
		PeerURLs: []string{"http://localhost:2380"}, InitialCluster: "default=http://localhost:2380",
		InitialClusterToken: "etcd-cluster", RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("restoring store: %w", err)
	}
	survived := map[Survivor]bool{}
	decoder := json.NewDecoder(bufio.NewReader(survivors))
	for {
		var s Survivor
		if err := decoder.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("reading list of objects: %w", err)
		}
		survived[s] = true
	}
	s, err := Start(ctx, dataDir, false, logr.Discard())
	if err != nil {
		return err
	}
	if err = s.WaitReady(ctx); err == nil {
		err = s.deleteLost(ctx, survived)
	}
	return errors.Join(err, s.Stop())
}

func (s *Store) deleteLost(ctx context.Context, survived map[Survivor]bool) error {
	begin := []byte(registry)
	for more := true; more; {
		found, err := s.Etcd.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: begin, RangeEnd: []byte(registryEnd), Limit: page})
		if err != nil {
			return err
		}
		for _, kv := range found.Kvs {
			begin = append(slices.Clone(kv.Key), 0)
			if !survived[Survivor{Key: string(kv.Key), Revision: kv.CreateRevision}] {
				if err := s.deleteAgain(ctx, kv); err != nil {
					return fmt.Errorf("deleting %s: %w", kv.Key, err)
				}
			}
		}
		more = found.More
	}
	return nil
}

func (s *Store) deleteAgain(ctx context.Context, kv *mvccpb.KeyValue) error {
	o, encode := decodeObject(kv.Value)
	if o == nil || len(o.GetFinalizers()) == 0 {
		_, err := s.Etcd.Server.DeleteRange(ctx, &etcdserverpb.DeleteRangeRequest{Key: kv.Key})
		return err
	}
	if o.GetDeletionTimestamp() != nil {
		return nil
	}
	o.SetDeletionTimestamp(new(metav1.Now()))
	o.SetDeletionGracePeriodSeconds(new(int64))
	value, err := encode()
	if err == nil {
		_, err = s.Etcd.Server.Put(ctx, &etcdserverpb.PutRequest{Key: kv.Key, Value: value, Lease: kv.Lease})
	}
	return err
}
