// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// A script is a binary that is no provider, and counts how often it is started.
type script struct {
	content string
	starts  string // a file with a line for each
}

func newScript(t *testing.T, path, command string) script {
	t.Helper()
	s := script{starts: filepath.Join(t.TempDir(), "starts")}
	s.content = fmt.Sprintf("#!/bin/sh\necho started >>%s\n%s\n", s.starts, command)
	if err := os.WriteFile(path, []byte(s.content), 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s script) count() int {
	lines, _ := os.ReadFile(s.starts) // none before the first
	return strings.Count(string(lines), "\n")
}

// A binary that hangs neither keeps others from being served, nor its TerraformProvider from being deleted.
func TestHangingBinary(t *testing.T) {
	t.Parallel()
	inside := t.TempDir()
	hanging := newScript(t, filepath.Join(inside, "hanging"), "exec sleep 100000")
	s := newStage(t, inside, mirror.Providers(t))
	types := []string{"reef_berth"}
	stuck := s.providerNamed(s.name+"-stuck", v1alpha1.TerraformProviderSpec{Path: "hanging", Types: types})
	stop := s.run()
	s.Eventually(t, "the binary hangs", func(context.Context) error {
		if hanging.count() == 0 {
			return errors.New("it is not started")
		}
		return nil
	})
	s.ready(s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: types}))
	s.unready(stuck, "it prints no address")
	stop()

	s.must(s.Client.Delete(t.Context(), stuck))
	s.run()
	s.gone(stuck)
	if n := hanging.count(); n != 1 {
		t.Errorf("the binary was started %d times, also in order to delete its TerraformProvider", n)
	}
}

// A binary that failed is started again at once for other types, and not for what changes nothing about it.
func TestFailingBinary(t *testing.T) {
	t.Parallel()
	inside := t.TempDir()
	failing := newScript(t, filepath.Join(inside, "failing"), "echo no")
	s := newStage(t, inside)
	s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Path: "failing", Types: []string{"reef_berth"}})
	sum := sha256.Sum256([]byte(failing.content))
	for _, tc := range []struct {
		name   string
		change func()
		starts int
	}{
		{"it is created", func() {}, 1},
		{"a checksum is added", func() { of.Spec.Checksums = []string{"sha256:" + hex.EncodeToString(sum[:])} }, 1},
		{"a type is added", func() { of.Spec.Types = append(of.Spec.Types, "reef_anchor") }, 2},
		{"the checksum is removed", func() { of.Spec.Checksums = nil }, 2},
	} {
		before := of.DeepCopy()
		tc.change()
		s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
		s.unready(of, "does not answer as a Terraform provider")
		if n := failing.count(); n != tc.starts {
			t.Errorf("%s: the binary was started %d times, want %d", tc.name, n, tc.starts)
		}
	}
}

// Settings without an effect are reported, also by the next controllers, and keep no object from being served.
func TestSettingsWithoutEffect(t *testing.T) {
	t.Parallel()
	s := newStage(t, mirror.Providers(t))
	stop := s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth"},
		TypeSettings: []v1alpha1.TypeSettings{{Type: "reef_berth", ConnectionKeys: []string{"endpoint", "hostname"}}}})
	s.unready(of, "there is no hostname")
	if len(of.Status.Kinds) != 1 {
		t.Errorf("status has the kinds %v", of.Status.Kinds)
	}
	s.must(s.Client.Create(t.Context(), s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"folder": s.folder}})))
	berth := s.object("Berth", map[string]any{"forProvider": map[string]any{"name": "north"}})
	s.must(s.Client.Create(t.Context(), berth))
	s.becomes(berth, xpv1.TypeReady)
	stop()

	s.run()
	before := of.DeepCopy()
	of.Spec.TypeSettings = append(of.Spec.TypeSettings, v1alpha1.TypeSettings{Type: "reef_anchor"})
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.unready(of, "spec.typeSettings has reef_anchor")
	s.must(s.Client.Delete(t.Context(), berth))
	s.gone(berth)
	before = of.DeepCopy()
	of.Spec.TypeSettings = nil
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.ready(of)
}

// Wrong settings of a type stop no others, and are all reported.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	s := newStage(t, mirror.Providers(t))
	s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth", "reef_chart", "reef_mooring"}})
	s.ready(of)
	s.must(s.Client.Create(t.Context(), s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"folder": s.folder}})))
	before := of.DeepCopy()
	of.Spec.TypeSettings = []v1alpha1.TypeSettings{{Type: "reef_berth", Ownership: "size"}, {Type: "reef_chart", ImportID: "{nosuch}"},
		{Type: "reef_mooring", Ownership: "tags"}}
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.unready(of, "resource type reef_berth: ")
	s.unready(of, "resource type reef_chart: ")
	mooring := s.object("Mooring", map[string]any{"forProvider": map[string]any{"name": "north"}})
	s.must(s.Client.Create(t.Context(), mooring))
	s.becomes(mooring, xpv1.TypeReady)
	files, err := filepath.Glob(filepath.Join(s.folder, "reef_mooring", "*.json"))
	s.must(err)
	if content, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(content), string(mooring.GetUID())) {
		t.Errorf("the label is missing in %s, %v", content, err)
	}
	s.must(s.Client.Delete(t.Context(), mooring))
	s.gone(mooring)
}

// unready waits until a TerraformProvider says of its last change that it is not ready, with a message that contains a text.
func (s *stage) unready(of *v1alpha1.TerraformProvider, text string) {
	s.t.Helper()
	s.Eventually(s.t, "it says what is wrong", func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if c := of.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionFalse || c.ObservedGeneration != of.Generation || !strings.Contains(c.Message, text) {
			return fmt.Errorf("%s: %s", c.Status, c.Message)
		}
		return nil
	})
	if message := of.GetCondition(xpv1.TypeReady).Message; strings.Contains(message, "ClusterRole") {
		s.t.Errorf("it names rights, which nothing lacks: %s", message)
	}
}
