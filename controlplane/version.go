// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
	kubeversion "k8s.io/component-base/version"
)

// reportedVersion answers clients that ask for the server's version.
type reportedVersion struct {
	compatibility.EffectiveVersion
	gitVersion string
}

// Info adds to what Kubernetes knows about itself the version that it only learns from its own release build.
func (v reportedVersion) Info() *version.Info {
	info := v.EffectiveVersion.Info()
	if info == nil {
		info = new(kubeversion.Get())
	}
	info.GitVersion = v.gitVersion
	if major, rest, ok := strings.Cut(strings.TrimPrefix(v.gitVersion, "v"), "."); ok {
		info.Major = major
		info.Minor, _, _ = strings.Cut(rest, ".")
	}
	return info
}

// withVersion makes a server report a version that clients can read: the one set by the linker, else the version of the
// Kubernetes module that this program was built with.
func withVersion(v compatibility.EffectiveVersion) compatibility.EffectiveVersion {
	if !strings.Contains(kubeversion.Get().GitVersion, "$Format") {
		return v
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, dep := range build.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return reportedVersion{EffectiveVersion: v, gitVersion: dep.Version}
		}
	}
	return v
}
