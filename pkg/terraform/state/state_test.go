// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

func TestMain(m *testing.M) {
	state.ShortenSaving()
	os.Exit(controlplanetest.Main(m))
}

var (
	berths  = schema.GroupResource{Group: "reef.tf.bowline.dev", Resource: "berths"}
	errAway = errors.New("the API server is away")
)

// A stage is an object and a store of its state.
type stage struct {
	*controlplanetest.Env
	*state.Store
	object *unstructured.Unstructured
}

func newStage(t *testing.T) stage {
	t.Helper()
	env := controlplanetest.New(t)
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(berths.WithVersion("v1alpha1").GroupVersion().WithKind("Berth"))
	o.SetName("b")
	o.SetUID(uuid.NewUUID())
	return stage{env, state.NewStore(env.Client, env.Client, env.Namespace), o}
}

// after returns the stage with a store that knows nothing yet, as after a restart.
func (s stage) after(t *testing.T, access *rest.Config) stage {
	t.Helper()
	c, err := client.New(access, client.Options{Scheme: s.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	s.Store = state.NewStore(c, c, s.Namespace)
	return s
}

// afterWithOutages is after with an API server that answers nothing while it is away.
func (s stage) afterWithOutages(t *testing.T) (_ stage, away *atomic.Bool) {
	t.Helper()
	away = &atomic.Bool{}
	return s.after(t, fault.Intercept(s.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if away.Load() {
			return nil, errAway
		}
		return next.RoundTrip(r)
	})), away
}

func (s stage) save(ctx context.Context, what *state.State) error {
	return s.Save(ctx, s.object, berths, what)
}

func (s stage) mustSave(t *testing.T, what *state.State) {
	t.Helper()
	if err := s.save(t.Context(), what); err != nil {
		t.Fatal(err)
	}
}

// wantState checks what the store returns.
func (s stage) wantState(t *testing.T, want *state.State) {
	t.Helper()
	got, err := s.Load(t.Context(), s.object.GetUID())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// wantStored checks what a later process reads.
func (s stage) wantStored(t *testing.T, want *state.State) {
	t.Helper()
	s.after(t, s.Config).wantState(t, want)
}

func (s stage) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: s.Namespace, Name: state.NamePrefix + string(s.object.GetUID())}
	if err := s.Client.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// change does what a person does with a Secret.
func (s stage) change(t *testing.T, how func(map[string][]byte)) {
	t.Helper()
	secret := s.secret(t)
	how(secret.Data)
	if err := s.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

func complete() *state.State {
	return &state.State{Place: state.Place{Type: "reef_berth", System: "harbour", Config: "default"}, Name: "berth-1", SchemaVersion: 3,
		Value:   json.RawMessage(`{"id":"berth-1","password":"geheim","size":9007199254740993}`),
		Private: []byte{0, 0xff, '"'}, Identity: []byte{1, 2}, Tainted: true, Creating: "journal-1"}
}

func TestWhatIsSavedIsLoadedByAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*state.State{
		"everything":       complete(),
		"a creation":       {Name: "reef_berth", Creating: "journal-1"},
		"one to be found":  {Creating: "journal-1", ImportID: "harbour/north", AbsentBefore: true, MissingSince: time.Date(2026, 5, 4, 3, 2, 1, 9, time.UTC)},
		"what is deleted":  {Name: "berth-1", SchemaVersion: 1, Private: []byte("p")},
		"empty values":     {Name: "reef_berth", Value: json.RawMessage("{}"), Private: []byte{}, Identity: []byte{}},
		"a large value":    {Name: "reef_berth", Value: json.RawMessage(`"` + strings.Repeat("a", 900<<10) + `"`)},
		"an early version": {Name: "reef_berth", SchemaVersion: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.wantState(t, nil)
			s.mustSave(t, want)
			s.wantState(t, want)
			s.wantStored(t, want)
			s.mustSave(t, complete())
			s.wantStored(t, complete())
			s.mustSave(t, want) // which has fewer keys
			s.wantStored(t, want)
			if got, err := s.Load(t.Context(), "another object"); got != nil || err != nil {
				t.Errorf("another object has %v, %v", got, err)
			}
		})
	}
}

func TestSecretsSayWhatTheyAreOf(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.object.SetNamespace("team")
	s.mustSave(t, complete())
	secret := s.secret(t)
	got := map[string]string{"type": string(secret.Type), "label": secret.Labels[state.LabelKeyKind]}
	for key, value := range secret.Annotations {
		got[key] = value
	}
	want := map[string]string{"type": string(state.SecretType), "label": "berths.reef.tf.bowline.dev", state.AnnotationKeyObject: "team/b",
		state.AnnotationKeyKind: "Berth", state.AnnotationKeyAPIVersion: "reef.tf.bowline.dev/v1alpha1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSaveReplacesWhatOthersDo(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*testing.T, stage){
		"a person changes the Secret": func(t *testing.T, s stage) {
			s.change(t, func(data map[string][]byte) { data["state"], data["other"] = []byte("{}"), []byte("x") })
		},
		"a person deletes the Secret": func(t *testing.T, s stage) {
			if err := s.Client.Delete(t.Context(), s.secret(t)); err != nil {
				t.Fatal(err)
			}
		},
		"a person deletes it and creates another": func(t *testing.T, s stage) {
			another := s.secret(t)
			if err := s.Client.Delete(t.Context(), another); err != nil {
				t.Fatal(err)
			}
			another.UID, another.ResourceVersion = "", ""
			if err := s.Client.Create(t.Context(), another); err != nil {
				t.Fatal(err)
			}
		},
		"another process saves": func(t *testing.T, s stage) { s.after(t, s.Config).mustSave(t, &state.State{Name: "reef_chart"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.mustSave(t, complete())
			act(t, s)
			want := &state.State{Name: "berth-2", Value: json.RawMessage(`{"id":"berth-2"}`)}
			s.mustSave(t, want)
			s.wantStored(t, want)
			if other, kept := s.secret(t).Data["other"]; kept {
				t.Errorf("the Secret has %s of a person", other)
			}
		})
	}
}

func TestSaveOutlivesAnAPIServerThatIsAway(t *testing.T) {
	t.Parallel()
	want := complete()
	for name, before := range map[string]*state.State{"a first state": nil, "a further state": {Name: "reef_berth", Creating: "journal-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, away := newStage(t).afterWithOutages(t)
			if before != nil {
				s.mustSave(t, before)
			}
			away.Store(true)
			if err := s.save(t.Context(), want); !errors.Is(err, errAway) {
				t.Fatalf("Save returns %v, want %v", err, errAway)
			}
			s.wantState(t, want)
			s.wantStored(t, before)
			if err := s.Flush(t.Context(), s.object, berths); !errors.Is(err, errAway) {
				t.Errorf("Flush returns %v, want %v", err, errAway)
			}
			away.Store(false)
			if err := s.Flush(t.Context(), s.object, berths); err != nil {
				t.Error(err)
			}
			s.wantStored(t, want)
			away.Store(true)
			if err := s.Flush(t.Context(), s.object, berths); err != nil {
				t.Errorf("there is nothing to store: %v", err)
			}
		})
	}
}

func TestSaveTriesAgain(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]struct{ refuse, lose error }{
		"after refused writes":     {{refuse: errAway}, {refuse: errAway}},
		"after lost answers":       {{lose: errAway}, {lose: errAway}},
		"after both, by turns":     {{refuse: errAway}, {lose: errAway}, {refuse: errAway}, {lose: errAway}},
		"after a lost first write": {{lose: errAway}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			var writes atomic.Int32
			s = s.after(t, fault.InterceptWrites(s.Config, func(string) (refuse, lose error) {
				if n := int(writes.Add(1)) - 1; n < len(faults) {
					return faults[n].refuse, faults[n].lose
				}
				return nil, nil
			}))
			for _, want := range []*state.State{{Name: "reef_berth"}, complete()} {
				writes.Store(0)
				s.mustSave(t, want)
				s.wantStored(t, want)
			}
		})
	}
}

func TestSaveIsNotStoppedByItsContext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.save(ctx, complete()); err != nil {
		t.Error(err)
	}
	s.wantStored(t, complete())
}

func TestLoadRemembersNoFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustSave(t, complete())
	s, away := s.afterWithOutages(t)
	away.Store(true)
	if got, err := s.Load(t.Context(), s.object.GetUID()); got != nil || !errors.Is(err, errAway) {
		t.Errorf("got %v, %v", got, err)
	}
	away.Store(false)
	s.wantState(t, complete())
}

// A state above the size of Secrets is stored, and one that shrinks again is stored as it is.
func TestLargeStates(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, tc := range []struct {
		name, key string
		size      int
	}{
		{"a small one", "state", 1 << 10},
		{"the largest that is stored as it is", "state", 512 << 10},
		{"a larger one", "state.gz", 512<<10 + 1},
		{"one above the size of Secrets", "state.gz", 4 << 20},
		{"a small one again", "state", 1 << 10},
	} {
		const frame = `{"document":""}`
		want := complete()
		want.Value = json.RawMessage(`{"document":"` + strings.Repeat("x", tc.size-len(frame)) + `"}`)
		s.mustSave(t, want)
		var keys []string
		for _, key := range []string{"state", "state.gz"} {
			if _, has := s.secret(t).Data[key]; has {
				keys = append(keys, key)
			}
		}
		if diff := cmp.Diff([]string{tc.key}, keys); diff != "" {
			t.Errorf("%s: keys -want +got:\n%s", tc.name, diff)
		}
		got, err := s.after(t, s.Config).Load(t.Context(), s.object.GetUID())
		if err != nil || string(got.Value) != string(want.Value) {
			t.Errorf("%s: the next process reads another value (%v)", tc.name, err)
		}
	}
	for name, content := range map[string]string{"no gzip": "geheim", "the begin of gzip": string(s.compressed(t)[:100])} {
		s.change(t, func(data map[string][]byte) {
			delete(data, "state")
			data["state.gz"] = []byte(content)
		})
		got, err := s.after(t, s.Config).Load(t.Context(), s.object.GetUID())
		if got != nil || err == nil || !strings.Contains(err.Error(), "key state.gz") || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// compressed saves a large state, and returns what is stored of it.
func (s stage) compressed(t *testing.T) []byte {
	t.Helper()
	large := complete()
	large.Value = json.RawMessage(`["` + strings.Repeat("x", 1<<20) + `"]`)
	s.mustSave(t, large)
	return s.secret(t).Data["state.gz"]
}

func TestLoadRefusesMalformedSecrets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		key, content string
		missing      bool
	}{
		"a version that is no number": {key: "schemaVersion", content: "geheim"},
		"no version":                  {key: "schemaVersion"},
		"a state that is no JSON":     {key: "state", content: `{"password":"geheim"`},
		"an empty state":              {key: "state"},
		"a state of nothing":          {key: "state", content: "null"},
		"no state":                    {key: "state", missing: true},
		"the id of another resource":  {key: "state", content: `{"id":"berth-2","password":"geheim"}`},
		"another name":                {key: "externalName", content: "berth-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.mustSave(t, complete())
			good := s.secret(t).Data[tc.key]
			s.change(t, func(data map[string][]byte) {
				if data[tc.key] = []byte(tc.content); tc.missing {
					delete(data, tc.key)
				}
			})
			bad, later := s.secret(t), s.after(t, s.Config)
			got, err := later.Load(t.Context(), s.object.GetUID())
			if got != nil || err == nil || strings.Contains(err.Error(), "geheim") ||
				!strings.Contains(err.Error(), tc.key) || !strings.Contains(err.Error(), bad.Namespace+"/"+bad.Name) {
				t.Errorf("got %v, %v", got, err)
			}
			if diff := cmp.Diff(bad, s.secret(t)); diff != "" {
				t.Errorf("the Secret has changed: %s", diff)
			}
			s.change(t, func(data map[string][]byte) { data[tc.key] = good })
			later.wantState(t, complete())
		})
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for range 2 { // the second time there is nothing to delete
		if err := s.Forget(t.Context(), s.object.GetUID()); err != nil {
			t.Error(err)
		}
		s.wantState(t, nil)
	}
	s.mustSave(t, complete())
	secret := s.secret(t)
	if err := s.Forget(t.Context(), s.object.GetUID()); err != nil {
		t.Error(err)
	}
	s.wantState(t, nil)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is still there: %v", err)
	}
}
