// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// variableControllers makes the test binary a process with controllers, which ends itself by SIGKILL.
const variableControllers = "BOWLINE_TEST_CONTROLLERS"

// A doomed process runs controllers until their Nth write.
type doomed struct {
	Program, Name, Folder, Notes, Namespace string
	Host, Token                             string
	TLS                                     rest.TLSClientConfig
	Types                                   []string
	Settings                                external.TypeSettings
	At                                      int
	After                                   bool // the write is served before the kill
}

// A killer kills its process at a write.
type killer struct {
	next  http.RoundTripper
	at    int
	after bool

	mu     sync.Mutex
	writes int
}

func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return k.next.RoundTrip(r)
	}
	k.mu.Lock()
	defer k.mu.Unlock() // nothing else is written meanwhile
	k.writes++
	if k.writes == k.at && !k.after {
		die()
	}
	resp, err := k.next.RoundTrip(r)
	if k.writes == k.at {
		die()
	}
	return resp, err
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// TestControllers is the body of a doomed process.
func TestControllers(t *testing.T) {
	content := os.Getenv(variableControllers)
	if content == "" {
		return // it is for TestKilledControllers
	}
	d := doomed{}
	if err := json.Unmarshal([]byte(content), &d); err != nil {
		t.Fatal(err)
	}
	s := &stage{
		Env: &controlplanetest.Env{Config: &rest.Config{Host: d.Host, BearerToken: d.Token, TLSClientConfig: d.TLS, QPS: -1}, Namespace: d.Namespace},
		t:   t, name: d.Name, program: d.Program, folder: d.Folder, notes: d.Notes, settings: d.Settings, types: d.Types,
	}
	s.readSchemas()
	s.run(func(c *rest.Config) *rest.Config {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &killer{next: next, at: d.At, after: d.After} })
		return c
	})
	<-t.Context().Done()
}

// kill runs controllers in a process of their own until their Nth write. It is false for one that settles before.
func (s *stage) kill(at int, after bool, settled func() bool) bool {
	s.t.Helper()
	content, err := json.Marshal(doomed{
		Program: s.program, Name: s.name, Folder: s.folder, Notes: s.notes, Namespace: s.Namespace, Host: s.Config.Host, Token: s.Config.BearerToken,
		TLS: s.Config.TLSClientConfig, Types: s.types, Settings: s.settings, At: at, After: after,
	})
	s.must(err)
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], "-test.run", "^TestControllers$")
	cmd.Env = append(os.Environ(), variableControllers+"="+string(content))
	cmd.Stderr = os.Stderr
	s.must(cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // by a signal
	}()
	killed := true
	testkit.Eventually(s.t, "the controllers are killed, or settle", func() error {
		select {
		case <-ended:
			return nil
		default:
		}
		if !settled() {
			return fmt.Errorf("write %d has not come", at)
		}
		killed = false
		return nil
	})
	if !killed {
		_ = cmd.Process.Kill()
	}
	<-ended
	if !strings.Contains(cmd.ProcessState.String(), "killed") {
		s.t.Fatalf("the controllers ended with %s", cmd.ProcessState)
	}
	return killed
}

// variableAll has all writes tried with both providers, as make crashpoints does, not only those around a change.
const variableAll = "BOWLINE_TERRAFORM_POINTS"

// eachKill runs a parallel test for kills before writes and after them: each with one provider, or with both if all is tried.
func eachKill(t *testing.T, run func(t *testing.T, s *stage, after bool), types ...string) {
	t.Parallel()
	type choice struct {
		program string
		after   bool
	}
	choices := []choice{{"reef", false}, {"shoal", true}}
	if os.Getenv(variableAll) != "" {
		choices = append(choices, choice{"reef", true}, choice{"shoal", false})
	}
	for _, c := range choices {
		t.Run(fmt.Sprintf("%s, after a write: %v (N96)", c.program, c.after), func(t *testing.T) {
			t.Parallel()
			run(t, newStage(t, c.program, types...), c.after)
		})
	}
}

// Wherever the controllers are killed, nothing is created twice, no password is lost, and nobody has to act.
func TestKilledControllers(t *testing.T) {
	first, last := 3, 5
	if os.Getenv(variableAll) != "" {
		first, last = 1, 100
	}
	eachKill(t, func(t *testing.T, s *stage, after bool) {
		for at, killed := first, true; killed && at <= last; at++ {
			killed = s.killThrice(at, after)
		}
		if notes, _ := filepath.Glob(filepath.Join(s.notes, "*.change")); len(notes) > 0 {
			t.Errorf("notes are left: %v", notes)
		}
	})
}

// Wherever the controllers are killed while they look for what an interrupted creation made, it is found, and nothing is created twice.
func TestKilledRecovery(t *testing.T) {
	first, last := 4, 7
	if os.Getenv(variableAll) != "" {
		first, last = 1, 100
	}
	eachKill(t, func(t *testing.T, s *stage, after bool) {
		s.settings = byLabel
		kills := 0
		for at, killed := first, true; killed && at <= last; at++ {
			s.removeAll()
			s.faults(lostAnswer)
			north := s.named("beacon")
			s.create(north)
			if killed = s.kill(at, after, func() bool {
				s.read(north)
				return s.isReady(north) == nil
			}); killed {
				kills++
			}
			stop := s.run()
			s.ready(north)
			s.checkPublished("beacon", north)
			s.delete(north)
			s.gone(north)
			stop()
		}
		if kills < 2 {
			t.Errorf("the controllers were killed %d times", kills)
		}
	}, "beacon")
}

// killThrice kills the controllers at a write of a creation, of a replacement and of a deletion. It is false if all end before.
func (s *stage) killThrice(at int, after bool) bool {
	name := fmt.Sprintf("killed-%d-%v", at, after)
	o := s.berth(name, 2)
	s.create(o)
	killedCreation := s.kill(at, after, func() bool {
		s.read(o)
		return s.isReady(o) == nil
	})
	stop := s.run()
	s.ready(o)
	former := meta.GetExternalName(o)
	s.checkOne(o)
	stop()
	s.rename(o, name+"-again", map[string]string{meta.AnnotationKeyAllowReplace: "name"})
	killedReplacement := s.kill(at, after, func() bool {
		s.read(o)
		return s.isReady(o) == nil && meta.GetExternalName(o) != former
	})
	stop = s.run()
	s.replaced(o, former)
	s.checkOne(o)
	stop()
	s.delete(o)
	killedDeletion := s.kill(at, after, func() bool {
		return s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o.GetUnstructured()) != nil
	})
	stop = s.run()
	s.gone(o)
	stop()
	if files := s.files("berth"); len(files) != 0 {
		s.t.Errorf("after a kill at write %d of the deletion (after it: %v) there is %v", at, after, files)
	}
	return killedCreation || killedReplacement || killedDeletion
}

// checkOne checks that a berth has exactly one external resource, and that its password is published.
func (s *stage) checkOne(o *unstructured.Managed) {
	s.t.Helper()
	name, _, _ := kube.NestedString(o.Object, "spec", "forProvider", "name")
	id, found := meta.GetExternalName(o), 0
	for file, object := range s.files("berth") {
		if object["name"] == name {
			found++
			if file != id {
				s.t.Errorf("%s has the id %s, and the external name is %s", name, file, id)
			}
		}
	}
	if found != 1 {
		s.t.Errorf("there are %d of the name %s", found, name)
	}
	published, stored := &corev1.Secret{}, &corev1.SecretList{}
	s.must(s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: o.GetName()}, published))
	s.must(s.Client.List(s.t.Context(), stored, client.InNamespace(s.Namespace)))
	for _, secret := range stored.Items {
		if secret.Type == state.SecretType && strings.HasSuffix(secret.Annotations[state.AnnotationKeyObject], "/"+o.GetName()) {
			values := map[string]any{}
			s.must(json.Unmarshal(secret.Data["state"], &values))
			if password := string(published.Data["password"]); password == "" || password != values["password"] {
				s.t.Errorf("%s has not the published password", name)
			}
			return
		}
	}
	s.t.Errorf("%s has no state", name)
}
