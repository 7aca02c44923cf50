// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	network "github.com/bowline-dev/bowline/pkg/terraform/mirror"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

const reefAddress = "registry.terraform.io/bowline-dev/reef"

const platform = runtime.GOOS + "_" + runtime.GOARCH

// publishReef returns a mirror with a version of reef, and the checksum of its archive.
func publishReef(t *testing.T, version string) (*mirror.Network, string) {
	t.Helper()
	program, err := os.ReadFile(mirror.Program(t, "reef"))
	if err != nil {
		t.Fatal(err)
	}
	archive := mirror.Archive(t, mirror.File{Name: "terraform-provider-reef_v" + version, Content: string(program), Mode: 0o755})
	sum := sha256.Sum256(archive)
	zh := "zh:" + hex.EncodeToString(sum[:])
	n := mirror.NewNetwork(t)
	n.Publish(t, reefAddress, version, platform, archive, zh)
	return n, zh
}

func (s *stage) reports(of *v1alpha1.TerraformProvider, want string) {
	s.t.Helper()
	s.Eventually(s.t, "the TerraformProvider reports "+want, func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		if c := of.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, want) {
			return fmt.Errorf("%s: %s", c.Status, c.Message)
		}
		return nil
	})
}

// A provider that no folder has is downloaded once, after the mirror has recovered, and later starts need no network.
func TestNetworkMirror(t *testing.T) {
	t.Parallel()
	n, zh := publishReef(t, "1.1.0")
	attempts := make(chan struct{})
	n.Answer("/"+reefAddress+"/index.json", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-attempts:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{"versions": {"1.1.0": {}}}`)
	})
	n.Answer("/"+reefAddress+"/1.1.0.json", func(w http.ResponseWriter, r *http.Request) {
		// The first attempt fails; the next one finds what was published.
		n.Serve(r.URL.Path, fmt.Appendf(nil, `{"archives": {%q: {"url": "1.1.0_%s.zip", "hashes": [%q]}}}`, platform, platform, zh))
		w.WriteHeader(http.StatusBadGateway)
	})
	o := controller.Options{Folders: []string{t.TempDir()}, Mirror: network.Config{URL: n.URL, Folder: t.TempDir()}}
	spec := v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "~> 1.0", Types: []string{"reef_berth"}, Checksums: []string{zh}}
	s := newStageWith(t, "reef", o)
	s.run()
	of := s.provider(spec)
	s.reports(of, fmt.Sprintf("Downloading %s %q from %s", reefAddress, "~> 1.0", n.URL))
	attempts <- struct{}{}
	s.reports(of, "answers 502 Bad Gateway")
	attempts <- struct{}{}
	s.ready(of)
	place := filepath.Join(o.Mirror.Folder, filepath.FromSlash(reefAddress), "1.1.0", platform, "terraform-provider-reef_v1.1.0")
	if of.Status.Binary != place || of.Status.Version != "1.1.0" {
		t.Errorf("status %+v, want binary %s", of.Status, place)
	}
	prefix := "/" + reefAddress + "/"
	want := []string{prefix + "index.json", prefix + "1.1.0.json", prefix + "index.json", prefix + "1.1.0.json", prefix + "1.1.0_" + platform + ".zip"}
	if diff := cmp.Diff(want, n.Requests()); diff != "" {
		t.Errorf("requests: -want +got:\n%s", diff)
	}

	n.Close()
	later := newStageWith(t, "reef", o)
	later.run()
	again := later.provider(spec)
	later.ready(again)
	before := again.DeepCopy()
	again.Spec.Checksums = []string{"zh:" + strings.Repeat("0", 64)}
	later.must(later.Client.Patch(t.Context(), again, client.MergeFrom(before)))
	later.reports(again, zh+", and spec.checksums has other ones")
	before = again.DeepCopy()
	again.Spec.Version, again.Spec.Checksums = "1.2.0", nil
	later.must(later.Client.Patch(t.Context(), again, client.MergeFrom(before)))
	later.reports(again, "connection refused")
}

// What is not to be run is refused before it is in a place where it could.
func TestNetworkMirrorWithoutUse(t *testing.T) {
	t.Parallel()
	n, zh := publishReef(t, "1.1.0")
	n.Publish(t, reefAddress, "1.2.0", "plan9_arm", []byte("of another platform"))
	n.Publish(t, reefAddress, "1.3.0", platform, []byte("no archive"))
	n.Publish(t, reefAddress, "1.4.0", platform, []byte("another archive"), zh)
	folder := t.TempDir()
	s := newStageWith(t, "reef", controller.Options{Mirror: network.Config{URL: n.URL, Folder: folder}})
	s.run()
	half := filepath.Join(folder, ".download-0123456789abcdef", platform)
	s.must(os.MkdirAll(half, 0o755))
	copyFile(t, mirror.Program(t, "reef"), filepath.Join(half, "terraform-provider-reef_v1.1.0"))
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "~> 7.0", Types: []string{"reef_berth"}})
	for _, tc := range []struct{ version, path, want string }{
		{version: "~> 7.0", want: "none of its 4 versions satisfies"},
		{version: "1.1.0", want: "spec.checksums has other ones"},
		{version: "1.2.0", want: "no archive for " + platform},
		{version: "1.3.0", want: "not a valid zip"},
		{version: "1.4.0", want: "the mirror lists another one"},
		{path: filepath.Join(half, "terraform-provider-reef_v1.1.0"), want: "there is no file"},
		{path: ".download-0123456789abcdef/" + platform + "/terraform-provider-reef_v1.1.0", want: "there is no file"},
	} {
		t.Run(tc.version+tc.path, func(t *testing.T) {
			before := of.DeepCopy()
			of.Spec.Version, of.Spec.Path, of.Spec.Source = tc.version, tc.path, ""
			if tc.path == "" {
				of.Spec.Source = "bowline-dev/reef"
			}
			of.Spec.Checksums = []string{"zh:" + strings.Repeat("0", 64)}
			s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
			s.reports(of, tc.want)
			found, err := filepath.Glob(filepath.Join(folder, "registry.terraform.io", "*", "*", "*", "*"))
			if err != nil || len(found) > 0 {
				t.Errorf("packages: %v (%v)", found, err)
			}
		})
	}
}
