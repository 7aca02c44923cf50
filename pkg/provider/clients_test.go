// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const many = 50

// All objects that use a configuration share its client; others have their own.
func TestOneClient(t *testing.T) {
	t.Parallel()
	s := startStage(t)
	s.Create(s.teamConfig("team"))
	allSettled(s, s.teamItems(many, "team"))
	failIf(t, "one client for all users of a configuration (R232)", s.created() != 1,
		"%d clients for %d objects", s.created(), many)
	other := s.teamConfig("other")
	other.Spec.Endpoint += "/other"
	item := s.teamItem("by-other", "other")
	s.Create(other, item)
	s.settled(item)
	t.Run("objects name different configurations (R227, R229)", func(t *testing.T) {
		created := s.journal.connections()
		if len(created) != 2 || created[0].Settings.Endpoint != s.depot.URL || created[1].Settings.Endpoint != s.depot.URL+"/other" {
			t.Errorf("clients created from %+v", created)
		}
	})
	t.Run("every kind of configuration (N2)", func(t *testing.T) {
		cluster := &kinds.ClusterProviderConfig{ObjectMeta: s.Meta("", s.Prefix+"cluster"), Spec: s.spec("key")}
		config := &kinds.ProviderConfig{ObjectMeta: s.Meta("", s.Prefix+"config"), Spec: s.spec("key")}
		byCluster := s.teamItem("by-cluster", cluster.Name)
		byCluster.Spec.ProviderConfigReference.Kind = xpv1.ClusterProviderConfigKind
		byConfig := &kinds.Item{ObjectMeta: s.Meta("", s.Prefix+"by-config")}
		byConfig.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: config.Name}
		s.Create(cluster, config, byCluster, byConfig)
		s.settled(byCluster, byConfig)
		created := s.journal.connections()
		if len(created) != 4 {
			t.Fatalf("%d clients for 4 configurations", len(created))
		}
		names := created[2].Name + created[3].Name
		for _, want := range []string{fmt.Sprintf("ClusterProviderConfig %q", cluster.Name), fmt.Sprintf("ProviderConfig %q", config.Name)} {
			if !strings.Contains(names, want) {
				t.Errorf("clients of %s, want %s", names, want)
			}
		}
	})
}

// Keys are rotated while many objects are polled all the time. An old key is valid until its client is closed, as in a careful
// rotation.
func TestRotation(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(20*time.Millisecond))
	s.Create(s.teamConfig("team"))
	items := s.teamItems(many, "team")
	allSettled(s, items)
	keys := []string{"first", "second", "third", "fourth"}
	for i, key := range keys[1:] {
		before := s.depot.allRequests()
		s.rotate(key)
		s.until("clients closed", s.journal.closedClients, i+1)
		s.depot.revoke(keys[i])
		s.atLeast("requests", s.depot.allRequests, before+2*many)
	}
	allSettled(s, items)
	t.Run("no error under load (R232)", func(t *testing.T) {
		if w := s.events.warnings(); len(w) > 0 || s.depot.refusedRequests() > 0 {
			t.Errorf("%d requests refused; warnings %q", s.depot.refusedRequests(), w)
		}
	})
	failIf(t, "one client for each key (R232)", s.created() != len(keys) || s.journal.closedClients() != len(keys)-1,
		"%d clients created, %d closed, for %d keys", s.created(), s.journal.closedClients(), len(keys))
	failIf(t, "no client is used after it was closed (R232)", s.journal.misusedCalls() > 0,
		"%d calls of closed clients", s.journal.misusedCalls())
}

// The key is replaced after it was revoked, as after a leak.
func TestRevocation(t *testing.T) {
	t.Parallel()
	s := startStage(t)
	s.Create(s.teamConfig("team"))
	items := s.teamItems(many, "team")
	allSettled(s, items)
	revoked := time.Now()
	s.depot.revoke("first")
	s.atLeast("requests refused", s.depot.refusedRequests, 1)
	s.rotate("second")
	allSettled(s, items)
	s.until("clients closed", s.journal.closedClients, 1)
	t.Run("the new key works at once although the old one was refused (R232)", func(t *testing.T) {
		if last := s.depot.lastFirst("second"); last.Sub(revoked) > 5*time.Second {
			t.Errorf("an object used it after %v only, when the pause after refused credentials may end", last.Sub(revoked))
		}
	})
	t.Run("one repetition for each object at most (R232, R234)", func(t *testing.T) {
		warnings, refused := s.events.warnings(), s.depot.refusedRequests() // those report the refusal, and then the pause
		if len(warnings) > many+refused {
			t.Errorf("%d warnings, %d requests refused: %q", len(warnings), refused, warnings)
		}
		for _, w := range warnings {
			if strings.Contains(w, "first") || strings.Contains(w, "second") {
				t.Errorf("a key is in a message: %s", w)
			}
		}
	})
	failIf(t, "refused credentials make no other client (R232)", s.created() != 2, "%d clients created", s.created())
}

// A pass that is under way keeps its client.
func TestLease(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour))
	s.Create(s.teamConfig("team"))
	held := s.teamItem("held", "team")
	release := sync.OnceFunc(s.depot.hold())
	t.Cleanup(release) // a held request keeps the depot from closing
	s.Create(held)
	s.until("requests waiting", s.depot.waitingRequests, 1)
	s.rotate("second")
	items := []resource.Managed{held}
	s.Eventually(t, "a pass reads the new key", func(context.Context) error {
		if s.created() == 2 {
			return nil
		}
		other := s.teamItem(fmt.Sprintf("other-%d", len(items)), "team") // it has the old key if the watch of the Secret is behind
		s.Create(other)
		items = append(items, other)
		return errors.New("none did")
	})
	failIf(t, "a client in use is not closed (R232)", s.journal.closedClients() != 0, "it is closed while a pass uses it")
	release()
	s.settled(items...)
	s.until("clients closed", s.journal.closedClients, 1)
	t.Run("its pass ends with it (R232)", func(t *testing.T) {
		if w := s.events.warnings(); len(w) > 0 || s.journal.misusedCalls() > 0 {
			t.Errorf("%d calls of closed clients; warnings %q", s.journal.misusedCalls(), w)
		}
	})
}

// Clients are closed when idle, with their configuration and with their manager.
func TestClosing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stop := s.start(newProvider(s.journal.factory(200*time.Millisecond)), managed.WithPollInterval(time.Hour))
	config, item := s.teamConfig("team"), s.teamItem("item", "team")
	s.Create(config, item)
	s.settled(item)
	t.Run("unused for a while (R232)", func(t *testing.T) {
		s.until("clients closed", s.journal.closedClients, 1)
	})
	s.Change(item, func() { item.Spec.ForProvider.Size = new(int64(2)) })
	s.settled(item)
	s.until("clients created", s.created, 2)
	s.until("clients closed", s.journal.closedClients, 2)
	stop()

	stop = s.start(newProvider(s.journal.factory(time.Hour)), managed.WithPollInterval(time.Hour))
	s.until("clients created", s.created, 3)
	s.Delete(config)
	s.Delete(item)
	t.Run("configuration deleted with its last user (N12, R232)", func(t *testing.T) {
		s.Eventually(t, "it is deleted", testkit.Gone(s.Client, config))
		s.until("clients closed", s.journal.closedClients, 3)
		if s.created() != 3 {
			t.Errorf("%d clients were created: a deletion is no reason for another", s.created())
		}
	})
	item = s.teamItem("item", "team")
	s.Create(s.teamConfig("team"), item)
	s.settled(item)
	stop()
	failIf(t, "manager ends (R232)", s.created() != 4 || s.journal.closedClients() != 4,
		"%d clients created, %d closed", s.created(), s.journal.closedClients())
}

// A stoppable client has a long call that ends when it is stopped.
type stoppable struct {
	*depotClient
	calling, stopping chan struct{}
}

// Stop satisfies clients.Stopper.
func (s *stoppable) Stop(context.Context) { close(s.stopping) }

// A slowItem creates its item once it is stopped.
type slowItem struct {
	external[*kinds.TeamItem]
	lease *clients.Lease[*stoppable]
}

func (s slowItem) Create(ctx context.Context, i *kinds.TeamItem) (managed.ExternalCreation, error) {
	close(s.lease.Client.calling)
	<-s.lease.Client.stopping
	return s.external.Create(ctx, i)
}

func (s slowItem) Disconnect(ctx context.Context) error { return s.lease.Disconnect(ctx) }

// The end of a manager stops long calls in the background, and waits for them.
func TestStopping(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	plain, calling := s.journal.factory(0), make(chan struct{})
	factory := &clients.Factory[kinds.ConfigSpec, *stoppable]{
		New: func(ctx context.Context, c clients.Connection[kinds.ConfigSpec]) (*stoppable, error) {
			d, err := plain.New(ctx, c)
			return &stoppable{depotClient: d, calling: calling, stopping: make(chan struct{})}, err
		},
		Close: func(c *stoppable) { plain.Close(c.depotClient) },
	}
	p := newProvider(plain)
	p.Kinds[1] = provider.KindOf(&kinds.TeamItem{}, factory, func(l *clients.Lease[*stoppable]) managed.TypedExternalClient[*kinds.TeamItem] {
		return slowItem{external[*kinds.TeamItem]{&clients.Lease[*depotClient]{Client: l.Client.depotClient}}, l}
	}, managed.WithBackgroundOperations(time.Minute))
	stop := s.start(p)
	s.Create(s.teamConfig("team"), s.teamItem("item", "team"))
	<-calling
	stop()
	failIf(t, "the call ends with its work done, and then the client is closed (R232)",
		s.depot.itemCount() != 1 || s.journal.closedClients() != 1 || s.journal.misusedCalls() > 0,
		"%d items, %d clients closed, %d calls of closed ones", s.depot.itemCount(), s.journal.closedClients(), s.journal.misusedCalls())
}
