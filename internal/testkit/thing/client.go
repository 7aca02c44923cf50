// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Connect satisfies managed.TypedExternalConnecter. A failed connection returns a client too, as careless
// connecters do (R20).
func (s *System) Connect(ctx context.Context, _ *Thing) (managed.TypedExternalClient[*Thing], error) {
	err := s.call(ctx, "Connect", func() error { return nil })
	switch {
	case s.Chooses:
		return &chooser{external: external{s: s}}, err
	case s.Finds:
		return finder{&external{s: s}}, err
	default:
		return &external{s: s}, err
	}
}

type external struct {
	s        *System
	password string // that the client chose
}

func (c *external) ReplaysCreate() bool { return c.s.Replays }

// UseSecretInputs takes the password that Create and Update are to set.
func (c *external) UseSecretInputs(values map[string][]byte) {
	c.s.Do(func(s *System) { s.Password = string(values["passwordSecretRef"]) })
}

func (c *external) Adoption() resource.Adoption { return c.s.Adoption }

func (c *external) ExternalSystem() xpv1.ExternalSystem { return c.s.Identity }

func (c *external) PollInterval() time.Duration { return c.s.Poll }

// Observe is as careless as an author may be: it overwrites the spec with all that the system reports, whatever the user set, and
// returns an observation with errors, too.
func (c *external) Observe(ctx context.Context, t *Thing) (o managed.ExternalObservation, err error) {
	have, exists, err := c.s.get(ctx, meta.GetExternalName(t))
	if exists {
		theirs := have.parameters()
		desired, errDesired := parameters.Tree(t.Spec.ForProvider)
		initial, errInitial := parameters.Tree(t.Spec.InitProvider)
		observed, errObserved := parameters.Tree(theirs)
		if err := errors.Join(errDesired, errInitial, errObserved); err != nil {
			return o, err
		}
		drift := parameters.Rules{}.Differences(desired, observed, initial)
		o = managed.ExternalObservation{
			ResourceExists:          true,
			ResourceUpToDate:        len(drift) == 0 && (c.s.Unlabelled || have.Owner == t.GetUID()),
			ResourceLateInitialized: !reflect.DeepEqual(t.Spec.ForProvider, theirs),
			Drift:                   drift,
			ConnectionDetails:       managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte(c.s.Endpoint)},
			Failed:                  c.s.Failed,
		}
		if !c.s.Unlabelled {
			o.Owner, o.OwnerNamespace = &have.Owner, have.Namespace
		}
		t.Spec.ForProvider, t.Status.AtProvider = theirs, have.parameters()
		if !c.s.Silent {
			t.SetConditions(xpv1.Available())
		}
	}
	o.System, o.SystemOrigin, o.ID = c.s.Identity, c.s.Origin, have.ID
	if c.s.Observed != nil {
		c.s.Observed(t, &o)
	}
	return o, err
}

func (c *external) Create(ctx context.Context, t *Thing) (creation managed.ExternalCreation, err error) {
	want := Resource{Owner: t.GetUID(), Token: meta.CreationToken(t), Password: c.password}
	have, name, err := c.s.create(ctx, meta.GetExternalName(t), want, t.Spec.ForProvider)
	if have.Password != "" {
		meta.SetExternalName(t, name)
		creation.ConnectionDetails = managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretEndpointKey: []byte(c.s.Endpoint),
			xpv1.ResourceCredentialsSecretPasswordKey: []byte(have.Password),
		}
	}
	if c.s.Created != nil && err == nil {
		err = c.s.Created(t, &creation)
	}
	return creation, err
}

// Update changes what is set and keeps the rest.
func (c *external) Update(ctx context.Context, t *Thing) (update managed.ExternalUpdate, err error) {
	owner := t.GetUID()
	if c.s.Unlabelled {
		owner = ""
	}
	err = c.s.update(ctx, meta.GetExternalName(t), owner, c.password, t.Spec.ForProvider)
	if c.s.Updated != nil {
		c.s.Updated(t, &update)
	}
	return update, err
}

func (c *external) Delete(ctx context.Context, t *Thing) error {
	err := c.s.remove(ctx, meta.GetExternalName(t))
	if c.s.Deleted != nil {
		c.s.Deleted(t)
	}
	return err
}

// finder is a client that finds the result of an interrupted create.
type finder struct{ *external }

func (f finder) FindCreated(ctx context.Context, t *Thing) (name string, err error) {
	return f.s.find(ctx, t.GetUID())
}

// chooser is a client that chooses the password, and another one on request.
type chooser struct {
	external
	pending string
	overlap time.Duration
}

// NewCredentials returns another password each time, unless users choose it.
func (c *chooser) NewCredentials() (fresh managed.ConnectionDetails, err error) {
	c.s.Do(func(s *System) {
		if s.UsersChoose {
			err = errors.New("users choose the password")
			return
		}
		s.rotated++
		fresh = managed.ConnectionDetails{xpv1.ResourceCredentialsSecretPasswordKey: fmt.Appendf(nil, "rotated-%d", s.rotated)}
	})
	return fresh, err
}

// UsePending takes the password that Update sets.
func (c *chooser) UsePending(pending managed.ConnectionDetails, overlap time.Duration) {
	c.pending, c.overlap = string(pending[xpv1.ResourceCredentialsSecretPasswordKey]), overlap
}

// Overlaps is true if the system can do that.
func (c *chooser) Overlaps() (can bool) {
	c.s.Do(func(s *System) { can = s.Overlaps })
	return can
}

// HasPending is true unless the system is slow.
func (c *chooser) HasPending() (has bool) {
	c.s.Do(func(s *System) { has = !s.SlowUpdate })
	return has
}

// Update sets the password, too.
func (c *chooser) Update(ctx context.Context, t *Thing) (managed.ExternalUpdate, error) {
	if c.pending != "" {
		c.password = c.pending
		c.s.Do(func(s *System) { s.Overlap = c.overlap })
	}
	return c.external.Update(ctx, t)
}

func (c *chooser) ChooseCredentials(_ context.Context, stored managed.ConnectionDetails) (managed.ConnectionDetails, error) {
	if c.UseConnectionDetails(stored); c.password == "" {
		c.password = "chosen"
	}
	return managed.ConnectionDetails{xpv1.ResourceCredentialsSecretPasswordKey: []byte(c.password)}, nil
}

// UseConnectionDetails keeps the password that Update sets again.
func (c *chooser) UseConnectionDetails(stored managed.ConnectionDetails) {
	c.password = string(stored[xpv1.ResourceCredentialsSecretPasswordKey])
}

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
	connecter, _, err := f.connecter()
	if err != nil {
		return nil, err
	}
	return connecter.Connect(ctx, mg)
}

// SetupWithManager adds a controller of Things to the manager, with the options of their kind and then the others.
func (f Functions) SetupWithManager(mgr manager.Manager, o ...managed.ReconcilerOption) error {
	_, own, err := f.connecter()
	if err != nil {
		return err
	}
	own = append(own, managed.WithExternalConnecter(f))
	return managed.NewReconciler(mgr, resource.ManagedKind(ThingGroupVersionKind), append(own, o...)...).SetupWithManager(mgr)
}

func (f Functions) connecter() (managed.ExternalConnecter, []managed.ReconcilerOption, error) {
	of := kind.System[*System]{
		IsNotFound: func(err error) bool { return errors.Is(err, errNone) },
		Refused:    func(error) bool { return true },
		Identify:   func(s *System) xpv1.ExternalSystem { return s.Identity },
		Origin:     func(s *System) string { return s.Origin },
	}
	return kind.NewConnecter(of, f.kind(), ThingGroupVersionKind.GroupKind(), f.System)
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
		UniqueID: func(a *answer) string { return a.ID },
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
