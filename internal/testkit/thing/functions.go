// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// answer is the system's answer about a resource.
type answer struct {
	Resource
	Name    string
	Labels  map[string]string
	Status  string
	Message string
}

// answer returns the system's answer about the resource to a client of an object.
func (r Resource) answer(name string, to *request) *answer {
	a := &answer{Resource: r, Name: name}
	switch r.Owner {
	case "":
	case to.Object.GetUID():
		a.Labels = meta.GetExternalLabels(to.Object, ThingGroupVersionKind.GroupKind(), resource.ProviderConfigName(to.Object))
	default:
		a.Labels = map[string]string{meta.ExternalLabelUID: string(r.Owner)}
	}
	return a
}

type request = kind.Request[Parameters, answer]

var errNone = errors.New("there is no such resource")

// Functions connects to a system with clients that package kind makes of four functions. The reconciler must treat them like those
// that are written out.
// +kubebuilder:object:generate=false
type Functions struct{ *System }

// Connect satisfies managed.ExternalConnecter.
func (f Functions) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	if err := f.call(ctx, "Connect", func() error { return nil }); err != nil {
		return nil, err
	}
	of := kind.System[*System]{
		IsNotFound: func(err error) bool { return errors.Is(err, errNone) },
		Refused:    func(error) bool { return true },
	}
	connecter, _, err := kind.NewConnecter(of, f.kind(), ThingGroupVersionKind.GroupKind(), f.System)
	if err != nil {
		return nil, err
	}
	return connecter.Connect(ctx, mg)
}

func (s *System) kind() kind.Kind[*System, Parameters, Parameters, answer] {
	k := kind.Kind[*System, Parameters, Parameters, answer]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *System, r *request) (*answer, error) {
			have, exists, err := s.get(ctx, r.Name)
			if !exists {
				return nil, cmp.Or(err, errNone)
			}
			a := have.answer(r.Name, r)
			a.Password = ""
			if s.Failed != nil {
				a.Status, a.Message = "broken", s.Failed.Error()
			}
			return a, err
		},
		Create: func(ctx context.Context, s *System, r *request) (*answer, error) {
			want := Resource{Owner: ownerIn(r), Token: r.Token, Password: string(r.Secrets["passwordSecretRef"])}
			have, name, err := s.create(ctx, r.Name, want, r.Parameters)
			return have.answer(name, r), err
		},
		Update: func(ctx context.Context, s *System, r *request) error {
			return s.update(ctx, r.Name, ownerIn(r), string(r.Secrets["passwordSecretRef"]), r.Parameters)
		},
		Delete:   func(ctx context.Context, s *System, r *request) error { return s.remove(ctx, r.Name) },
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
			k.Find, k.Identity = findCreated, kind.ByLabel
		}
	}
	if s.Replays {
		k.Identity = kind.ByToken
	}
	return k
}

func findCreated(ctx context.Context, s *System, r *request) (found *answer, err error) {
	name, err := s.find(ctx, r.Object.GetUID())
	if name == "" || err != nil {
		return nil, err
	}
	return s.Snapshot()[name].answer(name, r), nil
}

// ownerIn returns the owner in the labels of a request, if it has any.
func ownerIn(r *request) types.UID { return types.UID(r.Labels[meta.ExternalLabelUID]) }
