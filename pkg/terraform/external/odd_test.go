// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// A creation whose answer identifies nothing may have created something: it is not repeated, also not by a deletion, before a person has looked.
func TestUnidentifiedCreation_N101(t *testing.T) {
	for mode, program := range map[string]string{"null_state": "reef", "null_id": "reef", "forgets": "shoal"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, program, "beacon", "faulty")
			kind, o := "faulty", s.object("Faulty", "north", map[string]any{"forProvider": map[string]any{"value": "a", "mode": mode}})
			if program == "shoal" {
				kind, o = "beacon", s.named("beacon")
				s.must(os.WriteFile(filepath.Join(s.folder, mode), []byte("yes"), 0o600))
			}
			s.run()
			s.create(o)
			s.eventually(o, "it waits for a person", func() error { return s.hasFailed(o, failure.CreateInterrupted) })
			s.nudge(o)
			s.eventually(o, "it still waits", func() error { return s.hasFailed(o, failure.CreateInterrupted) })
			if outside := s.files(kind); len(outside) != 1 || s.calls("create") != 1 {
				t.Fatalf("after %d creations there are %v", s.calls("create"), outside)
			}
			id := slices.Collect(maps.Keys(s.files(kind)))[0]
			s.settle(o, id)
			s.ready(o)
			s.delete(o)
			s.gone(o)
			if left := s.files(kind); len(left) > 0 {
				t.Errorf("after its deletion there is %v", left)
			}
		})
	}
}

// settle does what a person does who has found what an interrupted creation made.
func (s *stage) settle(o *unstructured.Managed, id string) {
	s.t.Helper()
	s.edit(o, func(map[string]any) {
		meta.SetExternalName(o, id)
		annotations := o.GetAnnotations()
		delete(annotations, meta.AnnotationKeyExternalCreatePending)
		o.SetAnnotations(annotations)
	})
}

// note writes a note of the journal, with an answer to a change of an object. version is that of the schema, nil if it is not known.
func (s *stage) note(of *unstructured.Managed, after string, version *int64, answer *wire.Apply_Response) {
	s.t.Helper()
	encoded, err := proto.Marshal(answer)
	s.must(err)
	line, err := json.Marshal(map[string]any{"began": time.Now().Add(-time.Hour), "after": after, "version": version, "answer": encoded, "ended": true})
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.notes, string(of.GetUID())+".change"), append(line, '\n'), 0o600))
}

// stored is the Secret with the state of an object.
func (s *stage) stored(of *unstructured.Managed) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	s.must(s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: state.NamePrefix + string(of.GetUID())}, secret))
	return secret
}

// value is the stored value of an object's external resource, with other attributes.
func (s *stage) value(of *unstructured.Managed, with map[string]any) []byte {
	s.t.Helper()
	value := map[string]any{}
	s.must(json.Unmarshal(s.stored(of).Data["state"], &value))
	maps.Copy(value, with)
	content, err := json.Marshal(value)
	s.must(err)
	return content
}

// The journal of a machine that changed an object before another one did has nothing to say any more.
func TestNoteOfAnEarlierChange_N101(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		stop := s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		id := meta.GetExternalName(north)
		stop()
		s.note(north, "another", nil, &wire.Apply_Response{NewState: &wire.DynamicValue{Json: s.value(north, map[string]any{"id": "berth-stale", "password": "stale"})}})
		defer s.run()()
		s.polls(3)
		s.ready(north)
		s.checkOne(north)
		if now := meta.GetExternalName(north); now != id {
			t.Errorf("it is %s now, and was %s", now, id)
		}
	})
}

// The journal has an answer of another version of the provider, or does not know of which.
func TestNoteOfAnotherProvider(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef", "upgraded")
	for _, tc := range []struct {
		name      string
		version   *int64
		attribute string
		size      cty.Value
		fails     bool
	}{
		{"earlier", new(int64(0)), "size", cty.StringVal("10GB"), false},
		{"same", new(int64(1)), "size_gb", cty.NumberIntVal(10), false},
		{"unknown", nil, "size_gb", cty.NumberIntVal(10), false},
		{"later", new(int64(2)), "size_gib", cty.NumberIntVal(10), true},
	} {
		stop := s.run()
		s.faults(lostAnswer)
		o := s.object("Upgraded", tc.name, map[string]any{"forProvider": map[string]any{"name": tc.name, "sizeGb": int64(10)}})
		s.create(o)
		s.eventually(o, "it waits", func() error { return s.hasFailed(o, failure.CreateInterrupted) })
		stop()
		id := slices.Collect(maps.Keys(s.files("upgraded")))[0]
		answer := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id), "name": cty.StringVal(tc.name), tc.attribute: tc.size})
		encoded, err := msgpack.Marshal(answer, answer.Type())
		s.must(err)
		s.note(o, string(s.stored(o).Data["change"]), tc.version, &wire.Apply_Response{NewState: &wire.DynamicValue{Msgpack: encoded}})
		s.faults()
		stop = s.run()
		if tc.fails {
			s.says(o, "the answer to a change was written by a later version of the provider")
			return
		}
		s.ready(o)
		if value := s.value(o, nil); !bytes.Contains(value, []byte(`"size_gb":10`)) || len(s.files("upgraded")) != 1 {
			t.Errorf("%s: its state is %s, and there are %v", tc.name, value, s.files("upgraded"))
		}
		s.delete(o)
		s.gone(o)
		stop()
	}
}

// The answer to a creation that cannot be read is kept until a person has looked.
func TestUnreadableNote(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		stop := s.run()
		s.faults(lostAnswer)
		north := s.named("beacon")
		s.create(north)
		s.eventually(north, "it waits", func() error { return s.hasFailed(north, failure.CreateInterrupted) })
		stop()
		s.note(north, string(s.stored(north).Data["change"]), nil, &wire.Apply_Response{NewState: &wire.DynamicValue{Json: []byte(`{"strange":true}`)}})
		defer s.run()()
		s.says(north, "cannot be read")
		id := slices.Collect(maps.Keys(s.files("beacon")))[0]
		s.faults()
		s.settle(north, id)
		s.ready(north)
		if _, err := os.Stat(filepath.Join(s.notes, string(north.GetUID())+".change")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the note is left: %v", err)
		}
	}, "beacon")
}

// An external name that is another import id of the same resource changes nothing else.
func TestAnotherImportID(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		id, secret := meta.GetExternalName(north), s.secretOf(north)
		s.edit(north, func(map[string]any) { meta.SetExternalName(north, "north") })
		s.Eventually(t, "its state has the name", func(context.Context) error {
			if name := string(s.stored(north).Data["externalName"]); name != "north" {
				return fmt.Errorf("its state is of %s", name)
			}
			return nil
		})
		s.polls(2)
		s.ready(north)
		if diff := cmp.Diff(secret, s.secretOf(north)); diff != "" || s.files("berth")[id] == nil || s.calls("update") > 0 {
			t.Errorf("%d updates, files %v; secret, -before +after:\n%s", s.calls("update"), s.files("berth"), diff)
		}
	})
}

// An object whose external name is changed to one that nothing has keeps its resource, and its secrets, whatever a person permits.
func TestRenamedToNothing_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		id := meta.GetExternalName(north)
		s.edit(north, func(map[string]any) { meta.SetExternalName(north, "berth-none") })
		s.waits(north, failure.InvalidSettings, id)
		s.edit(north, func(map[string]any) {
			annotations := north.GetAnnotations()
			annotations[meta.AnnotationKeyRecreate] = string(north.GetUID())
			north.SetAnnotations(annotations)
		})
		s.polls(3)
		s.waits(north, failure.InvalidSettings, id)
		s.edit(north, func(map[string]any) { meta.SetExternalName(north, id) })
		s.ready(north)
		s.checkOne(north)
	})
}

// A state of another resource, as one that was restored from a backup that is too old, is neither used nor replaced.
func TestStateOfAnotherResource(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		stop := s.run()
		north, south := s.berth("north", 2), s.berth("south", 2)
		s.create(north, south)
		s.ready(north, south)
		stop()
		secret, another := s.stored(north), s.stored(south)
		own, labels := secret.Data, secret.Labels
		secret.Data, secret.Labels = another.Data, another.Labels
		s.must(s.Client.Update(t.Context(), secret))
		stop = s.run()
		s.waits(north, failure.StateLost, meta.GetExternalName(south))
		s.delete(north)
		s.polls(3)
		s.waits(north, failure.StateLost, meta.GetExternalName(south))
		stop()
		if after := s.stored(north); after.ResourceVersion != secret.ResourceVersion {
			t.Errorf("its state is %s now", after.Data["state"])
		}
		secret.Data, secret.Labels = own, labels
		s.must(s.Client.Update(t.Context(), secret))
		s.run()
		s.gone(north)
		s.ready(south)
		s.checkOne(south)
	})
}

// An object that is deleted while it has another external name, or while its ProviderConfig leads to another system, leaves no resource behind.
func TestDeletedElsewhere_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		elsewhere := t.TempDir()
		s.create(s.object("ProviderConfig", "elsewhere", map[string]any{"configuration": map[string]any{"folder": elsewhere}}))
		s.run()
		for name, tc := range map[string]struct {
			change func(o *unstructured.Managed, spec map[string]any)
			reason failure.Reason
		}{
			"name": {func(o *unstructured.Managed, _ map[string]any) { meta.SetExternalName(o, "berth-none") }, failure.InvalidSettings},
			"config": {func(_ *unstructured.Managed, o map[string]any) {
				set(o, "elsewhere", "spec", "providerConfigRef", "name")
			}, failure.ExternalSystemChanged},
			"configuration": {func(*unstructured.Managed, map[string]any) { s.lead(elsewhere) }, failure.ExternalSystemChanged},
		} {
			o := s.berth(name, 2)
			s.create(o)
			s.ready(o)
			id := meta.GetExternalName(o)
			s.edit(o, func(object map[string]any) { tc.change(o, object) })
			s.delete(o)
			s.eventually(o, "it says why it is not deleted", func() error { return s.hasFailed(o, tc.reason) })
			s.lead(s.folder)
			s.edit(o, func(object map[string]any) {
				meta.SetExternalName(o, id)
				set(object, "default", "spec", "providerConfigRef", "name")
			})
			s.gone(o)
		}
		if left := s.files("berth"); len(left) > 0 {
			t.Errorf("there is %v", left)
		}
	})
}

// A creation that ends, or is looked for, after the ProviderConfig was led elsewhere is neither repeated there nor forgotten.
func TestCreatedElsewhere_N55(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		elsewhere := t.TempDir()
		s.settings = byLabel
		s.run()
		for name, faults := range map[string][]map[string]any{
			"ends":        {{"verb": "create", "when": "after", "do": "delay", "delay": "1s", "times": 1}},
			"interrupted": {{"verb": "import", "do": "fail"}, lostAnswer},
		} {
			s.faults(faults...)
			o := s.object("Beacon", name, map[string]any{"forProvider": map[string]any{"name": name}})
			s.create(o)
			s.awaitOne("beacon")
			s.lead(elsewhere)
			s.eventually(o, "it says that it is not there", func() error { return s.hasFailed(o, failure.ExternalSystemChanged) })
			s.delete(o)
			s.eventually(o, "it says why it is not deleted", func() error {
				if !meta.WasDeleted(o) || o.GetCondition(xpv1.TypeReady).Reason != xpv1.ReasonDeleting {
					return errors.New("its deletion has not begun")
				}
				return s.hasFailed(o, failure.ExternalSystemChanged)
			})
			s.heal()
			s.lead(s.folder)
			s.gone(o)
			if there, _ := filepath.Glob(filepath.Join(elsewhere, "*", "*.json")); len(there)+len(s.files("beacon")) > 0 {
				t.Errorf("%s: there are %v, and elsewhere %v", name, s.files("beacon"), there)
			}
		}
	}, "beacon")
}

// lead changes where ProviderConfig default leads.
func (s *stage) lead(folder string) {
	s.t.Helper()
	s.edit(s.object("ProviderConfig", "default", nil), func(o map[string]any) { set(o, folder, "spec", "configuration", "folder") })
}

// A resource whose state cannot be stored, as one that is too large, has an owner all the same, and can be deleted.
func TestStateThatCannotBeStored(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		refuse := func(c *rest.Config) *rest.Config {
			return fault.Intercept(c, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/secrets/"+state.NamePrefix) {
					return next.RoundTrip(r)
				}
				body, err := io.ReadAll(r.Body)
				s.must(err)
				if r.Body = io.NopCloser(bytes.NewReader(body)); !bytes.Contains(body, []byte(`"state":"`)) {
					return next.RoundTrip(r)
				}
				const answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"Too long"}`
				return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
					Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
			})
		}
		stop := s.run(refuse)
		north := s.berth("north", 2)
		s.create(north)
		s.says(north, "storing the state")
		id := s.theOnly("berth")["id"].(string)
		s.says(north, id)
		thief := s.berth("thief", 2)
		meta.SetExternalName(thief, id)
		s.create(thief)
		s.waits(thief, failure.ExternalNameTaken, "belongs to Berth north")
		s.delete(thief)
		s.gone(thief)
		stop()
		s.run(refuse)
		s.delete(north)
		s.gone(north)
		if left := s.files("berth"); len(left) > 0 || s.calls("create") != 1 {
			t.Errorf("after %d creations there is %v", s.calls("create"), left)
		}
	})
}

// An answer to a creation is kept until it is known whether another object has what it names.
func TestAnswerWithoutOwners_N102(t *testing.T) {
	eachCase(t, map[string]bool{"in the journal": false, "without a journal": true}, func(t *testing.T, s *stage, unnoted bool) {
		s.unnoted = unnoted
		away := atomic.Bool{}
		away.Store(true)
		stop := s.run(func(c *rest.Config) *rest.Config {
			return fault.Intercept(c, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if away.Load() && strings.HasPrefix(r.URL.Query().Get("labelSelector"), state.LabelKeyName) {
					return nil, errors.New("the API server is away")
				}
				return next.RoundTrip(r)
			})
		})
		north := s.berth("north", 2)
		s.create(north)
		s.says(north, "listing states")
		if !unnoted {
			stop()
			s.run()
		}
		away.Store(false)
		s.ready(north)
		s.checkPublished("berth", north)
		if n := s.calls("create"); n != 1 {
			t.Errorf("it created %d", n)
		}
		s.delete(north)
		s.gone(north)
	})
}

// A state of a later version of the provider stays as it is.
func TestStateOfALaterProvider(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		stop := s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		stop()
		secret := s.stored(north)
		secret.Data["schemaVersion"], secret.Data["state"] = []byte("7"), s.value(north, map[string]any{"later": "x"})
		s.must(s.Client.Update(t.Context(), secret))
		defer s.run()()
		s.eventually(north, "it says so", func() error { return s.hasFailed(north, failure.InvalidSettings) })
		if after := s.stored(north); after.ResourceVersion != secret.ResourceVersion {
			t.Errorf("its state is %s", after.Data["state"])
		}
	})
}

// What the settings of a type add to the connection Secret is no secret, and errors may name it.
func TestChosenKeysInErrors(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef")
	s.run()
	north := s.berth("north", 2)
	s.create(north)
	s.ready(north)
	endpoint, _, _ := kube.NestedString(north.Object, "status", "atProvider", "endpoint")
	s.faults(map[string]any{"verb": "update", "do": "fail", "message": "cannot reach " + endpoint})
	s.edit(north, func(o map[string]any) { set(o, int64(3), "spec", "forProvider", "size") })
	s.says(north, "cannot reach "+endpoint)
}

// The error of a creation repeats a secret that only its answer has.
func TestSecretsInErrors(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef", "faulty")
	s.run()
	o := s.object("Faulty", "north", map[string]any{"forProvider": map[string]any{"value": "a", "mode": "leak"}})
	s.create(o)
	s.eventually(o, "it reports the error", func() error {
		if c := o.GetCondition(xpv1.TypeSynced); !strings.Contains(c.Message, "Cannot register") {
			return fmt.Errorf("it says %q", c.Message)
		}
		return nil
	})
	events := &corev1.EventList{}
	s.must(s.Client.List(t.Context(), events))
	content, err := json.Marshal([]any{o, events})
	s.must(err)
	for _, outside := range s.files("faulty") {
		if secret := outside["secret"].(string); strings.Contains(string(content), secret) {
			t.Errorf("its secret is in a condition or an event")
		}
	}
}
