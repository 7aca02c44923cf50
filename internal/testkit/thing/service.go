// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Parameters satisfies kind.Object.
func (t *Thing) Parameters() *Parameters { return &t.Spec.ForProvider }

// Observation satisfies kind.Object.
func (t *Thing) Observation() *Parameters { return &t.Status.AtProvider }

// InitParameters satisfies kind.Object.
func (t *Thing) InitParameters() any { return t.Spec.InitProvider }

// FieldRules satisfies what package kind asks of parameters.
func (*Parameters) FieldRules() parameters.Rules { return parameters.Rules{Extra: []string{"tags"}} }

// answer is the system's answer about a resource.
type answer struct {
	Resource
	Name    string
	Labels  map[string]string
	Status  string
	Message string
}

// answer returns the system's answer about the resource to a client of an object.
func (h Resource) answer(name string, r *request) *answer {
	a := &answer{Resource: h, Name: name}
	switch h.Owner {
	case "":
	case r.Object.GetUID():
		a.Labels = meta.GetExternalLabels(r.Object, GroupVersionKind.GroupKind(), resource.ProviderConfigName(r.Object))
	default:
		a.Labels = map[string]string{meta.ExternalLabelUID: string(h.Owner)}
	}
	return a
}

type request = kind.Request[Parameters, answer]

var errNone = errors.New("there is no such resource")

// serviceClient is a client of package kind. It is typed, as authors' clients are.
type serviceClient struct {
	s *System
	c managed.ExternalClient
}

// asService returns a client of the system that consists of functions. The reconciler must treat it like one that is written out.
func (s *System) asService(ctx context.Context, t *Thing) (managed.TypedExternalClient[*Thing], error) {
	of := kind.System[*System]{
		IsNotFound: func(err error) bool { return errors.Is(err, errNone) },
		Refused:    func(error) bool { return true },
	}
	connecter, _, err := kind.NewConnecter(of, s.kind(), GroupVersionKind.GroupKind(), s)
	if err != nil {
		return nil, err
	}
	c, err := connecter.Connect(ctx, t)
	return serviceClient{s, c}, err
}

func (s *System) kind() kind.Kind[*System, Parameters, Parameters, answer] {
	k := kind.Kind[*System, Parameters, Parameters, answer]{
		Identity: kind.ByName,
		Get:      serviceGet, Create: serviceCreate, Update: serviceUpdate, Delete: serviceDelete,
		States:   map[string]kind.State{"broken": kind.Failed, "": kind.Ready},
		Declared: func(a *answer) Parameters { return a.parameters() },
		Observed: func(a *answer) Parameters { return a.parameters() },
		Want:     func(*request) answer { return answer{} },
		Connection: func(s *System, a *answer) managed.ConnectionDetails {
			return managed.ConnectionDetails{
				xpv1.ResourceCredentialsSecretEndpointKey: []byte(s.Endpoint),
				xpv1.ResourceCredentialsSecretPasswordKey: []byte(a.Password),
			}
		},
	}
	if !s.Unlabelled {
		k.Labels = func(a *answer) map[string]string { return a.Labels }
	}
	if s.VendorNames {
		k.ID, k.Identity = func(a *answer) string { return a.Name }, kind.Unfindable
		if s.Finds {
			k.Find, k.Identity = serviceFind, kind.ByLabel
		}
	}
	if s.Replays {
		k.Identity = kind.ByToken
	}
	return k
}

func serviceGet(ctx context.Context, s *System, r *request) (have *answer, err error) {
	err = s.call(ctx, "Observe", func() error {
		found, ok := s.Resources[r.Name]
		if !ok || s.Hidden {
			return errNone
		}
		have = found.answer(r.Name, r)
		have.Password = ""
		if s.Failed != nil {
			have.Status, have.Message = "broken", s.Failed.Error()
		}
		return nil
	})
	return have, err
}

func serviceCreate(ctx context.Context, s *System, r *request) (created *answer, err error) {
	s.record("Create", r.Parameters)
	err = s.call(ctx, "Create", func() error {
		name := r.Name
		if s.VendorNames {
			name = s.vendorName(r.Token)
		}
		have, exists := s.Resources[name]
		switch {
		case !exists:
			s.created++
			have = Resource{Zone: s.Zone, Tags: s.Tags, Token: r.Token}
			have.Password = cmp.Or(string(r.Secrets["passwordSecretRef"]), fmt.Sprintf("password-%d", s.created))
			have.own(r)
			if err := have.take(r.Parameters); err != nil {
				return err
			}
			s.Resources[name] = have
		case !s.Replays || have.Token != r.Token:
			return errors.New("name is taken")
		}
		created = have.answer(name, r)
		return nil
	})
	return created, err
}

func serviceUpdate(ctx context.Context, s *System, r *request) error {
	s.record("Update", r.Parameters)
	return s.call(ctx, "Update", func() error {
		if s.Stubborn {
			return nil
		}
		have := s.Resources[r.Name]
		have.own(r)
		have.Password = cmp.Or(string(r.Secrets["passwordSecretRef"]), have.Password)
		err := have.take(r.Parameters)
		s.Resources[r.Name] = have
		return err
	})
}

func serviceDelete(ctx context.Context, s *System, r *request) error {
	return s.call(ctx, "Delete", func() error {
		if !s.SlowDelete {
			delete(s.Resources, r.Name)
		}
		return nil
	})
}

func serviceFind(ctx context.Context, s *System, r *request) (found *answer, err error) {
	err = s.call(ctx, "FindCreated", func() error {
		for name, have := range s.Resources {
			if have.Owner == r.Object.GetUID() && !s.Hidden {
				found = have.answer(name, r)
			}
		}
		return nil
	})
	return found, err
}

// own applies the labels of the request, if it has any.
func (h *Resource) own(r *request) {
	if r.Labels != nil {
		h.Owner = types.UID(r.Labels[meta.ExternalLabelUID])
	}
}

func (s *System) record(verb string, p Parameters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Sent[verb] = append(s.Sent[verb], *p.DeepCopy())
}

// Unwrap returns the client with its other interfaces.
func (c serviceClient) Unwrap() any { return c.c }

func (c serviceClient) PollInterval() time.Duration { return c.s.Poll }

func (c serviceClient) Observe(ctx context.Context, t *Thing) (managed.ExternalObservation, error) {
	return c.c.Observe(ctx, t)
}

func (c serviceClient) Create(ctx context.Context, t *Thing) (managed.ExternalCreation, error) {
	return c.c.Create(ctx, t)
}

func (c serviceClient) Update(ctx context.Context, t *Thing) (managed.ExternalUpdate, error) {
	return c.c.Update(ctx, t)
}

func (c serviceClient) Delete(ctx context.Context, t *Thing) error { return c.c.Delete(ctx, t) }
