// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	v := &vendor{}
	w := newWidget(func(w *widget) {
		meta.SetExternalName(w, "")
		w.parameters = widgetParameters{Size: ptr.To(int64(3)), Labels: map[string]string{"team": "a"}}
	})
	c := connect(t, widgets(), v, w)
	if _, err := c.Observe(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	chosen, err := as[managed.CredentialChooser](t, c).ChooseCredentials(t.Context(), nil)
	if err != nil || len(chosen["password"]) < 20 {
		t.Fatalf("the password that was made up has %d characters, error %v (P62)", len(chosen["password"]), err)
	}
	creation, err := c.Create(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if got := meta.GetExternalName(w); got != "w-2" {
		t.Errorf("the external name is %q, not the vendor's", got)
	}
	want := map[string]string{"password": string(chosen["password"]), "token": "shown once"}
	if diff := cmp.Diff(want, texts(creation.ConnectionDetails)); diff != "" {
		t.Errorf("connection details (P64) (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ours("team", "a"), v.request.Parameters.Labels); diff != "" {
		t.Errorf("labels sent (-want +got):\n%s", diff)
	}
	if v.request.Want.Size != 3 || v.request.Want.Labels["team"] != "a" || v.request.Want.Region != "" {
		t.Errorf("the vendor's widget as it is to be is %+v", v.request.Want)
	}
	if string(v.request.Secrets["passwordSecretRef"]) != want["password"] || v.request.Token != meta.CreationToken(w) || v.request.Have != nil {
		t.Errorf("the request lacks password or token: %+v", v.request)
	}
	if len(w.parameters.Labels) != 1 {
		t.Errorf("the object's own labels became %v", w.parameters.Labels)
	}
}

func TestChooseCredentials(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		given  map[string][]byte
		stored managed.ConnectionDetails
		want   map[string]string
	}{
		"given by the user (P62)": {given: map[string][]byte{"passwordSecretRef": []byte("u")},
			want: map[string]string{}},
		"stored by an interrupted create (P65)": {
			stored: managed.ConnectionDetails{"password": []byte("s")}, want: map[string]string{"password": "s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, widgets(), &vendor{}, newWidget(nil))
			as[managed.SecretInputUser](t, c).UseSecretInputs(tc.given)
			chosen, err := as[managed.CredentialChooser](t, c).ChooseCredentials(t.Context(), tc.stored)
			if diff := cmp.Diff(tc.want, texts(chosen)); diff != "" || err != nil {
				t.Errorf("error %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestStoredCredentials(t *testing.T) {
	t.Parallel()
	stored := managed.ConnectionDetails{"password": []byte("s"), "license": []byte("of another time")}
	for name, tc := range map[string]struct {
		given         map[string][]byte
		stored        managed.ConnectionDetails
		want, details map[string]string
	}{
		"stored (P65)": {
			stored: stored,
			want:   map[string]string{"passwordSecretRef": "s"}, details: map[string]string{"password": "s"},
		},
		"not stored, none is generated (P65)": {want: map[string]string{}, details: map[string]string{}},
		"given by the user (P61)": {
			stored: stored, given: map[string][]byte{"passwordSecretRef": []byte("u")},
			want: map[string]string{"passwordSecretRef": "u"}, details: map[string]string{"password": "u"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, w := &vendor{}, newWidget(nil)
			c := connect(t, widgets(), v, w)
			as[managed.SecretInputUser](t, c).UseSecretInputs(tc.given)
			as[managed.ConnectionDetailsUser](t, c).UseConnectionDetails(tc.stored)
			update, err := c.Update(t.Context(), w)
			if diff := cmp.Diff(tc.want, texts(v.request.Secrets)); diff != "" || err != nil {
				t.Errorf("error %v, secrets -want +got:\n%s", err, diff)
			}
			if diff := cmp.Diff(tc.details, texts(update.ConnectionDetails)); diff != "" {
				t.Errorf("connection details (P64) -want +got:\n%s", diff)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	v := &vendor{have: &vendorWidget{Status: "READY", Size: 3, Labels: map[string]string{"theirs": "stays", "team": "b"}}}
	w := newWidget(func(w *widget) {
		w.parameters = widgetParameters{Size: ptr.To(int64(4)), Labels: map[string]string{"team": "a"}}
	})
	c := connect(t, widgets(), v, w)
	if _, err := c.Observe(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	as[managed.SecretInputUser](t, c).UseSecretInputs(map[string][]byte{
		"passwordSecretRef": []byte("new"), "licenseSecretRef": []byte("paid"),
	})
	update, err := c.Update(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ours("team", "a", "theirs", "stays"), v.request.Parameters.Labels); diff != "" {
		t.Errorf("labels sent: those of others stay (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"password": "new", "license": "paid"}, texts(update.ConnectionDetails)); diff != "" {
		t.Errorf("connection details (P61) (-want +got):\n%s", diff)
	}
	if v.request.Have != v.have || len(v.request.Changes) != 6 {
		t.Errorf("the request has %d changes and the resource %v", len(v.request.Changes), v.request.Have)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	const unknown, terminal, plain, none = "outcome unknown", "terminal", "plain", "none"
	cases := map[string]struct {
		verb string
		err  error
		want string // marks of the error
	}{
		"create, connection reset": {verb: "create", err: errBroken, want: unknown},
		"create, request not sent": {verb: "create", err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED), want: plain},
		"create, throttled":        {verb: "create", err: &limits.NotSentError{}, want: plain},
		"create, invalid":          {verb: "create", err: errInvalid, want: terminal},
		"update, invalid":          {verb: "update", err: errInvalid, want: terminal},
		"update, connection reset": {verb: "update", err: errBroken, want: plain},
		"delete, not found (R38)":  {verb: "delete", err: errNotFound, want: none},
		"delete, connection reset": {verb: "delete", err: errBroken, want: plain},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWidget(nil)
			err := verbs()[tc.verb](t, connect(t, widgets(), &vendor{err: tc.err}, w), w)
			got := plain
			switch {
			case err == nil:
				got = none
			case failure.IsTerminal(err):
				got = terminal
			case failure.IsOutcomeUnknown(err):
				got = unknown
			}
			if got != tc.want {
				t.Errorf("the error is %s, want %s: %v", got, tc.want, err)
			}
		})
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	full := errors.New("10.0.0.1: full")
	class := failure.Class{Reason: failure.QuotaExceeded, Message: "the quota is used up"}
	s := system()
	s.Classify = func(err error) error {
		if errors.Is(err, full) {
			return failure.ForTeam(class.Reason, class.Message, err)
		}
		return err
	}
	unknown := failure.Class{Reason: failure.InternalError}
	for name, tc := range map[string]struct {
		err  error
		want failure.Class
	}{
		"classified": {full, class}, "wrapped": {fmt.Errorf("x: %w", full), class}, "joined": {errors.Join(errBroken, full), class},
		"unknown to the system": {errBroken, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := widgets()
			k.Identity, k.Await = kind.ByToken, func(context.Context, *vendor, *widgetRequest) error { return tc.err }
			k.Get = func(context.Context, *vendor, *widgetRequest) (*vendorWidget, error) { return nil, tc.err }
			k.Find = k.Get
			for verb, call := range verbs() {
				for _, v := range []*vendor{{err: tc.err}, {}} { // the call itself fails, or what is awaited
					w := newWidget(nil)
					if got := failure.Of(call(t, connectTo(t, s, k, v, w), w)); got != tc.want {
						t.Errorf("%s: %+v, want %+v", verb, got, tc.want)
					}
				}
			}
		})
	}
}

// verbs are the calls of an external client.
func verbs() map[string]func(*testing.T, managed.ExternalClient, *widget) error {
	return map[string]func(*testing.T, managed.ExternalClient, *widget) error{
		"get": func(t *testing.T, c managed.ExternalClient, w *widget) error {
			_, err := c.Observe(t.Context(), w)
			return err
		},
		"create": func(t *testing.T, c managed.ExternalClient, w *widget) error {
			_, err := c.Create(t.Context(), w)
			return err
		},
		"update": func(t *testing.T, c managed.ExternalClient, w *widget) error {
			_, err := c.Update(t.Context(), w)
			return err
		},
		"delete": func(t *testing.T, c managed.ExternalClient, w *widget) error { return c.Delete(t.Context(), w) },
		"find": func(t *testing.T, c managed.ExternalClient, w *widget) error {
			_, err := as[managed.CreateFinder](t, c).FindCreated(t.Context(), w)
			return err
		},
	}
}

func TestNumberOutOfRange(t *testing.T) {
	t.Parallel()
	v := &vendor{have: &vendorWidget{ID: "w-1", Status: "READY"}}
	w := newWidget(func(w *widget) { w.parameters.Size = ptr.To(int64(5_000_000_000)) })
	c := connect(t, widgets(), v, w)
	if _, err := c.Observe(t.Context(), w); err != nil {
		t.Errorf("what cannot be sent keeps from looking: %v", err)
	}
	_, created := c.Create(t.Context(), w)
	_, updated := c.Update(t.Context(), w)
	for _, err := range []error{created, updated} {
		if want := "field Size: 5000000000 is out of the range of int32"; !strings.Contains(failure.Of(err).Message, want) || failure.Of(err).Reason != failure.InvalidSettings {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if !failure.IsTerminal(created) || !failure.IsTerminal(updated) || len(v.calls) > 0 {
		t.Errorf("calls %v; repeating heals nothing, but the errors are %T and %T", v.calls, created, updated)
	}
	if err := c.Delete(t.Context(), w); err != nil {
		t.Errorf("what cannot be sent keeps from deleting: %v", err)
	}
}

func TestErrorsNameTheCall(t *testing.T) {
	t.Parallel()
	for verb, call := range verbs() {
		t.Run(verb+" (R28)", func(t *testing.T) {
			t.Parallel()
			k := widgets()
			k.Get = func(context.Context, *vendor, *widgetRequest) (*vendorWidget, error) { return nil, errBroken }
			k.List = func(context.Context, *vendor, map[string]string) ([]vendorWidget, error) { return nil, errBroken }
			w := newWidget(nil)
			err := call(t, connect(t, k, &vendor{err: errBroken}, w), w)
			if want := "cannot " + verb + " widget: connection reset"; err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			if !errors.Is(err, errBroken) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestFindCreated(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		have *vendorWidget
		want string
	}{
		"found by the ownership label":  {have: &vendorWidget{ID: "w-9", Status: "MAKING", Labels: ours()}, want: "w-9"},
		"being deleted":                 {have: &vendorWidget{ID: "w-9", Status: "GOING", Labels: ours()}},
		"none":                          {},
		"the vendor ignores the filter": {have: &vendorWidget{ID: "w-9", Status: "READY"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWidget(nil)
			got, err := as[managed.CreateFinder](t, connect(t, widgets(), &vendor{have: tc.have}, w)).FindCreated(t.Context(), w)
			if got != tc.want || err != nil {
				t.Errorf("found %q, want %q; error %v", got, tc.want, err)
			}
		})
	}
}

// Of several that have the ownership label, none is taken: the others would be left over.
func TestFindSeveral_N88(t *testing.T) {
	t.Parallel()
	k := widgets()
	k.List = func(context.Context, *vendor, map[string]string) ([]vendorWidget, error) {
		return []vendorWidget{
			{ID: "w-1", Status: "READY", Labels: ours()}, {ID: "w-2", Status: "READY"}, {ID: "w-3", Status: "GOING", Labels: ours()},
			{ID: "w-4", Status: "MAKING", Labels: ours()},
		}, nil
	}
	w := newWidget(nil)
	got, err := as[managed.CreateFinder](t, connect(t, k, &vendor{}, w)).FindCreated(t.Context(), w)
	if got != "" || !failure.IsTerminal(err) || failure.Of(err).Reason != failure.CreateInterrupted || !strings.Contains(err.Error(), "w-1, w-4") {
		t.Errorf("found %q; error %v", got, err)
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	k := widgets()
	k.Identity = kind.ByToken
	k.Await = func(context.Context, *vendor, *widgetRequest) error { return errors.New("it takes too long") }
	w := newWidget(nil)
	c := connect(t, k, &vendor{have: &vendorWidget{ID: "w-1"}}, w)
	creation, err := c.Create(t.Context(), w)
	if !failure.IsAccepted(err) || string(creation.ConnectionDetails["token"]) != "shown once" {
		t.Errorf("what was accepted and never became ready is there, and its details must be kept, but Create returns %T %v, %q",
			err, err, creation.ConnectionDetails)
	}
	if _, err := c.Update(t.Context(), w); err == nil {
		t.Error("an update that was accepted and then failed is no error (R197)")
	}
	if err := c.Delete(t.Context(), w); err == nil {
		t.Error("a deletion that was accepted and then failed is no error")
	}
}

// What the reconciler stores is what the user wrote and what Observe reports, whatever an author's function does to what it gets.
func TestFunctionsChangeNothing(t *testing.T) {
	t.Parallel()
	spoil := func(of resource.Managed, p *widgetParameters) {
		of.SetAnnotations(map[string]string{"spoilt": "annotation"})
		of.SetFinalizers(append(of.GetFinalizers()[:0], "spoilt"))
		of.(*widget).parameters.Zones[0] = "spoilt object"
		p.Zones[0], *p.Size, p.Labels["spoilt"] = "spoilt", 9, "label"
		p.Region = ptr.To("spoilt")
	}
	have := &vendorWidget{ID: "w-1", Status: "READY", Size: 3, Zones: []string{"a"}, Labels: ours("team", "a")}
	k := widgets()
	called := map[string]bool{}
	calls := func(what string, r *widgetRequest) {
		called[what] = true
		spoil(r.Object, &r.Parameters)
	}
	k.Get = func(_ context.Context, _ *vendor, r *widgetRequest) (*vendorWidget, error) {
		calls("get", r)
		return have, nil
	}
	k.Create = func(_ context.Context, _ *vendor, r *widgetRequest) (*vendorWidget, error) {
		calls("create", r)
		return have, nil
	}
	k.Update = func(_ context.Context, _ *vendor, r *widgetRequest) error { calls("update", r); return nil }
	k.Delete = func(_ context.Context, _ *vendor, r *widgetRequest) error { calls("delete", r); return nil }
	k.Find = func(_ context.Context, _ *vendor, r *widgetRequest) (*vendorWidget, error) {
		calls("find", r)
		return have, nil
	}
	for verb, call := range verbs() {
		t.Run(verb+" (R42, R137)", func(t *testing.T) {
			w := newWidget(func(w *widget) {
				w.Finalizers = []string{"ours"}
				w.parameters = widgetParameters{Size: ptr.To(int64(3)), Zones: []string{"a"}, Labels: map[string]string{"team": "a"}}
			})
			c, before := connect(t, k, &vendor{}, w), w.copy()
			err := call(t, c, w)
			if err != nil || !called[verb] {
				t.Fatalf("called %t, %v", called[verb], err)
			}
			if diff := cmp.Diff(before.parameters, w.parameters); diff != "" {
				t.Errorf("parameters -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before.ObjectMeta, w.ObjectMeta); diff != "" {
				t.Errorf("metadata -want +got:\n%s", diff)
			}
		})
	}
}
