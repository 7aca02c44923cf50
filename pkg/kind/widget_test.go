// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// widgetParameters has a field for every rule.
type widgetParameters struct {
	Size              *int64                       `json:"size,omitempty"`
	Region            *string                      `json:"region,omitempty"`
	Zones             []string                     `json:"zones,omitempty"`
	Policy            *string                      `json:"policy,omitempty"`
	Engine            *string                      `json:"engine,omitempty"`
	Tier              *string                      `json:"tier,omitempty"`
	Script            *string                      `json:"script,omitempty"`
	Scaling           []widgetScaling              `json:"scaling,omitempty"`
	Labels            map[string]string            `json:"labels,omitempty"`
	PasswordSecretRef *xpv1.SecretKeySelector      `json:"passwordSecretRef,omitempty"`
	LicenseSecretRef  *xpv1.LocalSecretKeySelector `json:"licenseSecretRef,omitempty" connection:"license"`
}

type widgetScaling struct {
	Min  *int `json:"min,omitempty"`
	Want *int `json:"want,omitempty"`
}

func (*widgetParameters) FieldRules() parameters.Rules {
	return parameters.Rules{
		Immutable:  []string{"region"},
		Sets:       []string{"zones"},
		JSON:       []string{"policy"},
		IgnoreCase: []string{"engine"},
		WriteOnly:  []string{"script"},
		Defaults:   map[string]string{"tier": `"basic"`, "size": "-1"},
		Labels:     "labels",
		Generated:  map[string]string{"passwordSecretRef": "password"},
	}
}

type widgetObservation struct {
	ID     string `json:"id,omitempty"`
	Status string `json:"status,omitempty"`
	Host   string `json:"host,omitempty" connection:"endpoint"`
	Port   int    `json:"port,omitempty" connection:"port"`
}

// vendorWidget is what the vendor answers.
type vendorWidget struct {
	ID, Status, Message string
	Size                int32
	Region              string
	Zones               []string
	Policy              string
	Engine              string
	Tier                string
	Scaling             []struct{ Min, Want int }
	Labels              map[string]string
	Host                string
	Port                int
	Secret              string `connection:"token"`
}

// widget is a managed resource.
type widget struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	xpv1.ConditionedStatus

	policies    xpv1.ManagementPolicies
	parameters  widgetParameters
	initial     widgetParameters
	observation widgetObservation
}

func (w *widget) SetManagementPolicies(p xpv1.ManagementPolicies)           { w.policies = p }
func (w *widget) GetManagementPolicies() xpv1.ManagementPolicies            { return w.policies }
func (w *widget) Parameters() *widgetParameters                             { return &w.parameters }
func (w *widget) Observation() *widgetObservation                           { return &w.observation }
func (w *widget) InitParameters() any                                       { return &w.initial }
func (w *widget) GetProviderConfigReference() *xpv1.ProviderConfigReference { return nil }

func (w *widget) DeepCopyObject() runtime.Object { copied := w.copy(); return &copied }

func (w *widget) copy() widget {
	copied := *w
	w.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Conditions = slices.Clone(w.Conditions)
	copied.policies = slices.Clone(w.policies)
	copied.parameters = w.parameters.copy()
	return copied
}

// copy shares with p nothing that a test of copies changes.
func (p widgetParameters) copy() widgetParameters {
	p.Zones, p.Labels = slices.Clone(p.Zones), maps.Clone(p.Labels)
	if p.Size != nil {
		p.Size = new(*p.Size)
	}
	return p
}

func newWidget(change func(*widget)) *widget {
	w := &widget{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: "uid-1"}, policies: xpv1.ManagementPolicies{xpv1.ManagementActionAll}}
	meta.SetExternalName(w, "w-1")
	if change != nil {
		change(w)
	}
	return w
}

// ours are the labels that say that a vendor's widget is newWidget's.
func ours(more ...string) map[string]string {
	labels := meta.GetExternalLabels(newWidget(nil), schema.GroupKind{Group: "test", Kind: "Widget"}, "default")
	for i := 0; i+1 < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

var (
	errNotFound = errors.New("there is no such widget")
	errInvalid  = errors.New("size must be positive")
	errBroken   = errors.New("connection reset")
)

// vendor is an external system that has one widget at most.
type vendor struct {
	have    *vendorWidget
	err     error // that the next call of a verb that writes returns
	calls   []string
	request widgetRequest // of the last call that writes
}

type widgetRequest = kind.Request[widgetParameters, vendorWidget]

type widgetKind = kind.Kind[*vendor, widgetParameters, widgetObservation, vendorWidget]

func system() kind.System[*vendor] {
	return kind.System[*vendor]{
		IsNotFound: func(err error) bool { return errors.Is(err, errNotFound) },
		Invalid:    func(err error) bool { return errors.Is(err, errInvalid) },
	}
}

func (v *vendor) call(verb string, r *widgetRequest) error {
	v.calls = append(v.calls, verb)
	v.request = *r
	err := v.err
	v.err = nil
	return err
}

// widgets is a kind whose names the vendor makes up.
func widgets() widgetKind {
	return widgetKind{
		Identity: kind.ByLabel,
		ID:       func(v *vendorWidget) string { return v.ID },
		Get: func(_ context.Context, v *vendor, _ *widgetRequest) (*vendorWidget, error) {
			if v.have == nil {
				return nil, errNotFound
			}
			return v.have, nil
		},
		Create: func(_ context.Context, v *vendor, r *widgetRequest) (*vendorWidget, error) {
			err := v.call("Create", r)
			return &vendorWidget{ID: "w-2", Secret: "told once"}, err
		},
		Update: func(_ context.Context, v *vendor, r *widgetRequest) error { return v.call("Update", r) },
		Delete: func(_ context.Context, v *vendor, r *widgetRequest) error { return v.call("Delete", r) },
		List: func(_ context.Context, v *vendor, labels map[string]string) ([]vendorWidget, error) {
			if v.have == nil {
				return nil, nil
			}
			return []vendorWidget{{ID: "other", Labels: map[string]string{"a": "b"}}, *v.have}, nil
		},
		States: map[string]kind.State{
			"READY": kind.Ready, "MAKING": kind.Creating, "GOING": kind.Deleting, "BROKEN": kind.Failed,
		},
		Lag: time.Minute,
	}
}

func connect(t *testing.T, k widgetKind, v *vendor, w *widget) managed.ExternalClient {
	t.Helper()
	return connectTo(t, system(), k, v, w)
}

func connectTo[P, O, V any](
	t *testing.T, s kind.System[*vendor], k kind.Kind[*vendor, P, O, V], v *vendor, o resource.Managed,
) managed.ExternalClient {
	t.Helper()
	connecter, _, err := kind.NewConnecter(s, k, schema.GroupKind{Group: "test", Kind: "Widget"}, v)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connecter.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func with(labels map[string]string, key, value string) map[string]string {
	labels = maps.Clone(labels)
	labels[key] = value
	return labels
}
