// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
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

// ours are the labels that mark a vendor's widget as newWidget's.
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
			return &vendorWidget{ID: "w-2", Secret: "shown once"}, err
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

// mistake returns the error of a kind after a change.
func mistake[P, O, V any](k kind.Kind[*vendor, P, O, V], change func(*kind.Kind[*vendor, P, O, V])) error {
	if change != nil {
		change(&k)
	}
	_, _, err := kind.NewConnecter(system(), k, schema.GroupKind{}, &vendor{})
	return err
}

// kindOf is a kind without anything but the functions it needs.
func kindOf[P, O, V any]() kind.Kind[*vendor, P, O, V] {
	call := func(context.Context, *vendor, *kind.Request[P, V]) (*V, error) { return nil, nil }
	return kind.Kind[*vendor, P, O, V]{
		Identity: kind.ByName, Get: call, Create: call,
		Delete: func(context.Context, *vendor, *kind.Request[P, V]) error { return nil },
	}
}

// checkMistakes expects errors that contain a text, none for an empty one.
func checkMistakes(t *testing.T, cases map[string]mistaken) {
	t.Helper()
	t.Parallel()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.want == "" && tc.err != nil || tc.want != "" && (tc.err == nil || !strings.Contains(tc.err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", tc.err, tc.want)
			}
		})
	}
}

type mistaken struct {
	err  error
	want string
}

func TestMistakes(t *testing.T) {
	widget := func(change func(*widgetKind)) error { return mistake(widgets(), change) }
	byLabel := func(labels func(*nothing) map[string]string) error {
		return mistake(kindOf[nothing, nothing, nothing](), func(k *kind.Kind[*vendor, nothing, nothing, nothing]) {
			k.Identity, k.ID = kind.ByLabel, func(*nothing) string { return "" }
			k.List = func(context.Context, *vendor, map[string]string) ([]nothing, error) { return nil, nil }
			k.Labels = labels
		})
	}
	checkMistakes(t, map[string]mistaken{
		"NoGet":            {widget(func(k *widgetKind) { k.Get = nil }), "Get, Create and Delete are needed"},
		"NoIdentity":       {widget(func(k *widgetKind) { k.Identity = 0 }), "set Identity"},
		"NameIsMadeUp":     {widget(func(k *widgetKind) { k.Identity = kind.ByName }), "Identity ByName has no ID"},
		"NothingToFindBy":  {widget(func(k *widgetKind) { k.List = nil }), "Identity ByLabel needs ID, and List or Find"},
		"NoLabelsToFindBy": {byLabel(nil), "Identity ByLabel needs labels"},
		"LabelsToFindBy":   {byLabel(func(*nothing) map[string]string { return nil }), ""},
		"UnfindableFound": {widget(func(k *widgetKind) { k.Identity = kind.Unfindable }),
			"Identity Unfindable needs ID, and no List or Find"},
		"WaitsUnfindable": {widget(func(k *widgetKind) { k.Identity, k.Await = kind.Unfindable, k.Delete }),
			"Identity Unfindable excludes Await"},
		"ShownOnce (N22)":  {widget(func(k *widgetKind) { k.Await = k.Delete }), "and Await need Identity ByToken"},
		"Repeated (N22)":   {widget(func(k *widgetKind) { k.Identity, k.Await = kind.ByToken, k.Delete }), ""},
		"AnswerOfTheTypes": {widget(nil), ""},
	})
}

func TestMistakesInTypes(t *testing.T) {
	type sized struct {
		Size int `json:"size"`
	}
	type named struct {
		Size *int64 `json:"size" vendor:"Gigabytes"`
	}
	type gitRef struct {
		GitRef *string `json:"gitRef,omitempty"`
	}
	input := func(of any) error {
		return mistake(kindOf[sized, nothing, sized](), func(k *kind.Kind[*vendor, sized, nothing, sized]) { k.Inputs = []any{of} })
	}
	type phased struct{ Phase string }
	checkMistakes(t, map[string]mistaken{
		"NeverEnforced":       {mistake(kindOf[sized, nothing, nothing](), nil), "has nothing like field size of the parameters"},
		"SoundsLikeReference": {mistake(kindOf[gitRef, nothing, nothing](), nil), "has nothing like field gitRef of the parameters"},
		"Unanswered":          {mistake(kindOf[unanswered, nothing, struct{ Auth struct{} }](), nil), ""},
		"NeverObserved":       {mistake(kindOf[nothing, sized, nothing](), nil), "has nothing like field size of the observation"},
		"OtherType":           {mistake(kindOf[sized, nothing, struct{ Size string }](), nil), "field size: a string is no int"},
		"OtherName":           {mistake(kindOf[named, nothing, struct{ Gigabytes int32 }](), nil), ""},
		"NoStruct": {mistake(kindOf[nothing, nothing, map[string]any](), nil),
			"must be structs, and map[string]interface {} is none"},
		"LabelsInEmbeddedStruct": {mistake(kindOf[inlined, nothing, struct{ Labels map[string]string }](), nil), ""},
		"NoState": {mistake(kindOf[nothing, nothing, phased](), func(k *kind.Kind[*vendor, nothing, nothing, phased]) {
			k.States = map[string]kind.State{"READY": kind.Ready}
		}), "has no text field Status or State: give Kind.State"},
		"InputOfOtherType": {input(struct{ Size string }{}),
			"field Size: a int is no string: leave it out of Kind.Inputs and fill it by hand"},
		"InputNoStruct": {input("text"), "both must be structs"},
		"InputNil":      {input(nil), "one of Kind.Inputs is nil"},
		"InputPointer":  {input(&nothing{}), "one of Kind.Inputs is a *kind_test.nothing: give kind_test.nothing{}"},
	})
}

func TestMistakesInConnectionTags(t *testing.T) {
	type listed struct {
		Hosts []string `connection:"hosts"`
	}
	type secretive struct {
		secret string `connection:"password"`
	}
	_ = secretive{}.secret
	type disclosing = kind.Kind[*vendor, nothing, endpoint, nothing]
	disclose := func(connection func(*vendor, *nothing) managed.ConnectionDetails) error {
		return mistake(kindOf[nothing, endpoint, nothing](), func(k *disclosing) {
			k.Observed, k.Await, k.Connection = func(*nothing) (o endpoint) { return o }, k.Delete, connection
		})
	}
	checkMistakes(t, map[string]mistaken{
		"DetailsNoText":     {mistake(kindOf[nothing, nothing, listed](), nil), "only texts and numbers can be connection details"},
		"DetailsUnexported": {mistake(kindOf[nothing, nothing, secretive](), nil), "unexported fields cannot be connection details"},
		"DetailsUnexportedStruct": {mistake(kindOf[nothing, nothing, struct{ in secretive }](), nil),
			"unexported fields cannot be connection details"},
		"DetailsInList": {mistake(kindOf[nothing, nothing, struct{ Endpoints []endpoint }](), nil),
			"fields in lists and maps cannot be connection details"},
		"DetailsNoSecret": {mistake(kindOf[listed, nothing, struct{ Hosts []string }](), nil),
			"of parameters only references to Secrets can be connection details"},
		"DetailsObservedAndWaitedFor (N22)": {disclose(nil), ""},
		"DetailsWaitedFor (N22)": {disclose(func(*vendor, *nothing) managed.ConnectionDetails { return nil }),
			"and Await need Identity ByToken"},
		"DetailsShownOnceAndWaitedFor (N22)": {mistake(kindOf[nothing, endpoint, endpoint](),
			func(k *kind.Kind[*vendor, nothing, endpoint, endpoint]) {
				k.Observed, k.Await = func(*endpoint) (o endpoint) { return o }, k.Delete
			}), "and Await need Identity ByToken"},
	})
}

// unanswered has fields that no vendor answers.
type unanswered struct {
	Auth struct {
		Mode *string `json:"mode,omitempty"`
	} `json:"auth"`
	NetworkRef  *xpv1.NamespacedReference  `json:"networkRef,omitempty"`
	SubnetRefs  []xpv1.NamespacedReference `json:"subnetRefs,omitempty"`
	LicenseFrom *xpv1.SecretKeySelector    `json:"licenseFrom,omitempty"`
}

func (*unanswered) FieldRules() parameters.Rules {
	return parameters.Rules{WriteOnly: []string{"auth"}}
}

// inlined has its labels, of a named type, in an embedded struct.
type inlined struct {
	inlinedLabels `json:",inline"`
}

type (
	inlinedLabels struct {
		Labels labelMap `json:"labels,omitempty"`
	}
	labelMap map[string]string
)

func (*inlined) FieldRules() parameters.Rules { return parameters.Rules{Labels: "labels"} }

// as finds an optional interface of an external client, as the reconciler does.
func as[I any](t *testing.T, client any) I {
	t.Helper()
	for {
		if i, ok := client.(I); ok {
			return i
		}
		wrapper, ok := client.(interface{ Unwrap() any })
		if !ok {
			t.Fatalf("the client does not offer %T", *new(I))
		}
		client = wrapper.Unwrap()
	}
}

func texts(details managed.ConnectionDetails) map[string]string {
	all := map[string]string{}
	for key, value := range details {
		all[key] = string(value)
	}
	return all
}
