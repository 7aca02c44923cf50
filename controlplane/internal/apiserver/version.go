// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
	kubeversion "k8s.io/component-base/version"
)

// reportedVersion is the version that the server reports to clients.
type reportedVersion struct {
	compatibility.EffectiveVersion
	gitVersion string
}

// Info adds the version, which Kubernetes otherwise knows only in its release builds.
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

// withVersion makes a server report the version set by the linker, else that of the linked Kubernetes module.
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
