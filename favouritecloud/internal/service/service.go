// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service is the common part of all services of the cloud: it creates, reads, searches, changes and deletes the records
// of resources. A Kind has what differs: how requests are validated and what the API shows.
//
// Some resources are servers on this machine. The record is then the desired state, a folder and a process the actual one. One
// worker per record compares both and acts: each pass reads everything again, may stop anywhere, and can be repeated, also by
// another process. So a cloud that was killed continues after its restart, and adopts the servers that still run. A Driver runs
// the server. Workers are by hand because libraries for them, such as controller-runtime, watch an API server.
package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Record is the record of a resource.
type Record[Spec any] struct {
	Project, Name  string            // Project and Name identify the resource for users
	ID             int               // never reused in its service
	CreatedAt      time.Time         // the exact time of the create request; for Show, in whole seconds
	Labels         map[string]string // those of the user
	IdempotencyKey string            // that of the create request; empty for none
	// Status and Message are as the API shows them. Status DELETING is also desired state, and final.
	Status, Message string
	Spec            Spec // the part that only this service has
	Server
}

// SetLabels replaces all labels, unless labels is nil.
func (r *Record[Spec]) SetLabels(labels map[string]string) {
	if labels != nil {
		r.Labels = labels
	}
}

// Server is the part of records of servers.
type Server struct {
	Password   string // the desired password of the user that the API shows
	Version    string // the desired version of the server's programs; empty for any, until one was chosen
	Mark       string // in the data of the server, which no other has; empty until data of an earlier version is marked
	Port       int    // the port of the server; 0 until one was chosen
	Generation int    // counts the changes of the desired state
	// PreviousPassword opens the server beside Password until PreviousExpiresAt; empty for none. Services support it or not.
	PreviousPassword  string
	PreviousExpiresAt time.Time
}

// SetPassword changes the password, unless it is nil. The server accepts the previous one for the seconds that keep has beside it, by
// default not at all. Repeated with the same password it changes only how long that is.
func (s *Server) SetPassword(password *string, keep *int) {
	s.endPrevious()
	changed := password != nil && *password != s.Password
	if changed {
		s.PreviousPassword, s.Password = s.Password, *password
	}
	if changed || keep != nil {
		s.PreviousExpiresAt = time.Time{}
	}
	if keep != nil && *keep > 0 { // in whole seconds, as the API shows it: at least as long as requested
		s.PreviousExpiresAt = time.Now().UTC().Truncate(time.Second).Add(time.Duration(*keep+1) * time.Second)
	}
	s.endPrevious()
}

// endPrevious ends the previous password if its time is up, and reports whether it did.
func (s *Server) endPrevious() bool {
	if s.PreviousPassword != "" && time.Now().Before(s.PreviousExpiresAt) {
		return false
	}
	ended := s.PreviousPassword != ""
	s.PreviousPassword, s.PreviousExpiresAt = "", time.Time{}
	return ended
}

// changed counts a change of the desired state. The status changes in the same write, so that no reader sees the new state as ONLINE.
func (r *Record[Spec]) changed() {
	r.Generation++
	if r.Status == sdk.StatusOnline {
		r.Status = sdk.StatusUpdating
	}
}

// Hostname returns the host name of the server, empty until it has a port.
func (s Server) Hostname() string {
	if s.Port == 0 {
		return ""
	}
	return host.Loopback
}

// NewPassword returns 32 random letters and digits, which have 160 bits.
func NewPassword() string { return (rand.Text() + rand.Text())[:32] }

// Kind describes the resources of a service. In is a create request, Change an update.
type Kind[Spec, In, Change any] struct {
	Noun string // names a resource in messages, and the tables of the service
	// New returns the record of a request: Name, Labels, Server and Spec. It validates the Spec and the password.
	New     func(in In) (Record[Spec], error)
	Place   func(tx *store.Tx, r *Record[Spec]) error // Place, if any, checks a new record against other records
	Update  func(r *Record[Spec], in Change) error    // applies a change and validates the result
	Release func(tx *store.Tx, r Record[Spec]) error  // Release, if any, refuses to delete a resource that is in use
	Show    func(r Record[Spec]) any                  // returns the resource as the API shows it
	// ShowCreated, if any, returns the answer to a create request. Default: Show.
	ShowCreated func(r Record[Spec]) any
	Servers     *Servers[Spec] // describes the servers; nil if resources are records only
}

// Decode decodes the body of a request.
type Decode func(into any) error

// Created is the answer to a create request.
type Created struct {
	Name     string // that of the resource
	Body     []byte // JSON
	Replayed bool   // true when this is the answer to an earlier request with the same idempotency key
}

// replay is the answer to the request that created a resource.
type replay struct{ Answer json.RawMessage }

// Service answers the requests of one service. For servers call Recover, then Run, and the other methods while Run runs.
type Service[Spec, In, Change any] struct {
	Kind[Spec, In, Change]
	*fleet[Spec]
}

// New returns a service.
func New[Spec, In, Change any](env Environment, k Kind[Spec, In, Change]) *Service[Spec, In, Change] {
	return &Service[Spec, In, Change]{Kind: k, fleet: &fleet[Spec]{
		Environment: env, servers: k.Servers, free: host.FreeSpace, workers: map[int]*worker[Spec]{},
		Records: store.Table[Record[Spec]](k.Noun), replays: store.Table[replay](k.Noun + " replay"),
	}}
}

// Create creates a resource, or returns the answer to an earlier request of the project with the same idempotency key, if any. A
// replay ignores the request: a client that retries after a crash may send an edited one and still needs the password.
func (s *Service[Spec, In, Change]) Create(ctx context.Context, project, key string, decode Decode) (created Created, err error) {
	err = s.Store.Read(func(tx *store.Tx) error { return s.replay(tx, project, key, &created) })
	if err != nil || created.Replayed {
		return created, err
	}
	var in In
	if err := decode(&in); err != nil {
		return created, err
	}
	r, err := s.Kind.New(in)
	err = cmp.Or(refusal.Name("name", r.Name), err, refusal.Labels(r.Labels), s.servers.checkVersion(ctx, r.Version))
	if err != nil {
		return created, err
	}
	r.Project, r.IdempotencyKey, r.CreatedAt, r.Status = project, key, time.Now(), sdk.StatusAvailable
	if s.Servers != nil {
		r.Status, r.Mark = sdk.StatusCreating, rand.Text()
	}
	err = s.Store.Write(func(tx *store.Tx) error {
		if err := s.replay(tx, project, key, &created); err != nil || created.Replayed {
			return err
		}
		created.Name = r.Name
		created.Body, err = s.add(tx, &r)
		return err
	})
	if err == nil && !created.Replayed {
		s.enqueue(r)
	}
	return created, err
}

// replay looks for the answer to an earlier request.
func (s *Service[Spec, In, Change]) replay(tx *store.Tx, project, key string, created *Created) error {
	if key == "" {
		return nil
	}
	earlier, err := s.replays.Get(tx, project, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	*created = Created{Body: earlier.Answer, Replayed: err == nil}
	return err
}

func (s *Service[Spec, In, Change]) add(tx *store.Tx, r *Record[Spec]) (body []byte, err error) {
	if _, err := s.Records.Get(tx, r.Project, r.Name); err == nil {
		return nil, refusal.New(http.StatusConflict, sdk.CodeExists, "%s %q exists in project %q", s.Noun, r.Name, r.Project)
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if s.Place != nil {
		if err := s.Place(tx, r); err != nil {
			return nil, err
		}
	}
	if r.ID, err = s.Records.NextID(tx); err != nil {
		return nil, err
	}
	show := s.Show
	if s.ShowCreated != nil {
		show = s.ShowCreated
	}
	if body, err = json.Marshal(show(inAnswer(*r))); err != nil {
		return nil, err
	}
	if r.IdempotencyKey != "" {
		err = s.replays.Put(tx, r.Project, r.IdempotencyKey, replay{Answer: body})
	}
	return body, errors.Join(err, s.put(tx, *r))
}

// Get returns a resource. If asOf is not zero, resources that were created later are not found.
func (s *Service[Spec, In, Change]) Get(project, name string, asOf time.Time) (any, error) {
	r, err := s.get(project, name)
	if err == nil && !isVisible(r, asOf) {
		err = store.ErrNotFound
	}
	return s.show(r, err, project, name)
}

// ShowAs returns a resource as show shows it.
func (s *Service[Spec, In, Change]) ShowAs(project, name string, show func(r Record[Spec]) any) (any, error) {
	r, err := s.get(project, name)
	if err != nil {
		return s.show(r, err, project, name)
	}
	return show(inAnswer(r)), nil
}

// List returns the resources of a project that have all of the labels, ordered by name. asOf is as in Get.
func (s *Service[Spec, In, Change]) List(project string, labels map[string]string, asOf time.Time) ([]any, error) {
	shown := []any{} // An empty list, not null.
	err := s.Store.Read(func(tx *store.Tx) error {
		records, err := s.Records.List(tx, project)
		for _, r := range records {
			if isVisible(r, asOf) && refusal.Matches(r.Labels, labels) {
				shown = append(shown, s.Show(inAnswer(r)))
			}
		}
		return err
	})
	return shown, err
}

// inAnswer returns a record with the time as the API shows it.
func inAnswer[Spec any](r Record[Spec]) Record[Spec] {
	r.CreatedAt = r.CreatedAt.UTC().Truncate(time.Second)
	return r
}

func isVisible[Spec any](r Record[Spec], asOf time.Time) bool {
	return asOf.IsZero() || !r.CreatedAt.After(asOf)
}

// Update changes a resource. If it is a server, it starts to apply the change.
func (s *Service[Spec, In, Change]) Update(project, name string, decode Decode) (any, error) {
	var in Change
	if err := decode(&in); err != nil {
		return nil, err
	}
	r, err := s.edit(project, name, anyID, func(r *Record[Spec]) error {
		if r.Status == sdk.StatusDeleting {
			return refusal.Conflict("%s %q is being deleted", s.Noun, name)
		}
		before := *r
		if err := s.Kind.Update(r, in); err != nil {
			return err
		}
		if r.Server != before.Server || !reflect.DeepEqual(r.Spec, before.Spec) {
			r.changed()
		}
		return refusal.Labels(r.Labels)
	})
	if err == nil {
		s.enqueue(r)
	}
	return s.show(r, err, project, name)
}

// Delete deletes a resource. If it is a server, Delete starts the deletion of the server and its data, and can be repeated.
func (s *Service[Spec, In, Change]) Delete(project, name string) (any, error) {
	var r Record[Spec]
	err := s.Store.Write(func(tx *store.Tx) (err error) {
		if r, err = s.Records.Get(tx, project, name); err != nil {
			return err
		}
		if r.Status != sdk.StatusDeleting {
			r.Status, r.Message = sdk.StatusDeleting, ""
		}
		if s.Servers != nil {
			return s.put(tx, r)
		}
		if s.Release != nil {
			if err := s.Release(tx, r); err != nil {
				return err
			}
		}
		return s.remove(tx, r)
	})
	if err == nil {
		s.interrupt(r.ID)
		s.enqueue(r)
	}
	return s.show(r, err, project, name)
}

// checkTimeout is how long a server may take to accept or refuse a password.
const checkTimeout = 5 * time.Second

// CheckPassword reports whether the server of a resource accepts a password. It tries that on the server, whose password users may have
// changed there.
func (s *Service[Spec, In, Change]) CheckPassword(ctx context.Context, project, name string, decode Decode) (any, error) {
	var in sdk.PasswordCheck
	if err := decode(&in); err != nil {
		return nil, err
	}
	r, err := s.get(project, name)
	if err != nil {
		return s.show(r, err, project, name)
	}
	if r.Status != sdk.StatusOnline {
		return nil, refusal.Conflict("%s %q is %s: a password can be checked while it is %s", s.Noun, name, r.Status, sdk.StatusOnline)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	w := newWorker(s.fleet, r, ctx)
	defer w.interrupt()
	accepted, err := w.driver.Opens(ctx, r, in.Password)
	if err != nil {
		s.Log.Info("password cannot be checked", "instance", name, "error", err)
		return nil, refusal.Conflict("the server of %s %q does not answer", s.Noun, name)
	}
	return sdk.PasswordAnswer{Accepted: accepted}, nil
}

// show returns the answer about a resource, a refusal if there is none. It adds the resource to internal errors.
func (s *Service[Spec, In, Change]) show(r Record[Spec], err error, project, name string) (any, error) {
	_, refused := errors.AsType[*refusal.Error](err)
	switch {
	case err == nil:
		return s.Show(inAnswer(r)), nil
	case errors.Is(err, store.ErrNotFound):
		return nil, refusal.NotFound("%s %q does not exist in project %q", s.Noun, name, project)
	case refused:
		return nil, err
	}
	return nil, fmt.Errorf("%s %q of project %q: %w", s.Noun, name, project, err)
}
