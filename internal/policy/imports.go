// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
)

// A layer limits what the packages below a folder may import of this repository.
type layer struct {
	folder string
	may    []string // folders, with all that is below them, besides the layer's own; "." is everything
	tests  []string // what test files may import on top
	reason string
}

// layers returns the layers: cmd → internal/cli → {controlplane, providers} → pkg → apis. The longest folder that contains a
// package decides. A new top-level folder has to be added, with a reason.
func layers() []layer {
	harness := []string{"controlplane/controlplanetest", "providertest", "internal/testkit"}
	return []layer{
		{folder: "apis", may: []string{"pkg/resource"}, tests: append(harness, "pkg/crd"),
			reason: "Every client imports kinds; they depend on nothing but their roles."},
		{folder: "apis/common", tests: harness,
			reason: "Every kind imports it; it depends on nothing."},
		{folder: "pkg", may: []string{"apis"}, tests: append(harness, "favouritecloud"),
			reason: "Provider authors import pkg; it must not link a server or another provider."},
		{folder: "controlplane", may: []string{"apis", "pkg"}, tests: []string{"internal/testkit"},
			reason: "The embedded server serves any API; it depends on no provider and no command."},
		{folder: "controlplane/controlplanetest", may: []string{"apis", "pkg", "controlplane", "internal/testkit"},
			reason: "The server of tests is part of the test kit, and runs the control plane."},
		{folder: "providertest", may: []string{"apis", "pkg", "controlplane/controlplanetest", "internal/testkit"},
			reason: "Provider authors run the conformance suite outside this repository."},
		{folder: "favouritecloud", tests: []string{"internal/testkit"},
			reason: "The local cloud is an external system; if it used our code outside of its tests, our tests would prove nothing."},
		{folder: "favouritecloud/sdk", tests: []string{"favouritecloud"},
			reason: "Providers link the SDK; it must not link a server."},
		{folder: "providers", may: []string{"apis", "pkg", "favouritecloud/sdk"}, tests: append(harness, "favouritecloud"),
			reason: "A provider could be in a repository of its own: no server code, nothing internal."},
		{folder: "internal/cli", may: []string{"apis", "pkg", "controlplane", "favouritecloud", "providers", "internal/codegen"},
			tests:  []string{"internal/testkit"},
			reason: "Only the command line connects the parts."},
		{folder: "internal/testkit", may: []string{"apis", "pkg"}, tests: []string{"controlplane/controlplanetest"},
			reason: "Tests of every package import it, so it must not bring along a server or a provider."},
		{folder: "internal/policy", reason: "Rules read source and link none of it."},
		{folder: "internal/codegen", may: []string{"apis", "pkg"}, tests: harness, reason: "The generator depends on types only."},
		{folder: "internal/catalogue", may: []string{"pkg", "providers/terraform/controller"}, reason: "The page of reasons is generated from the table in the code."},
		{folder: "internal/contract", reason: "The check of the contract reads the output of go test and links none of our code."},
		{folder: "cmd", may: []string{"internal/cli", "internal/codegen"}, reason: "A command is one line."},
		{folder: "tools", reason: "Generators that need libraries of their own: each is a module, and links none of our code."},
		{folder: "deploy", reason: "A module of its own for provider authors, too: it links none of our code."},
		{folder: "test", may: []string{"."}, reason: "Tests of the whole system may import all of it."},
		{folder: "examples", may: []string{"apis", "pkg", "controlplane", "favouritecloud/sdk", "providers", "providertest"},
			reason: "Examples import only what other repositories can."},
	}
}

// imports checks each import of our own packages against the layers.
func imports(t tree) []string {
	var found []string
	for _, f := range t {
		own, ok := layerOf(f.dir())
		if !ok {
			found = append(found, f.path+": its folder is in no layer; add it to layers() with a reason")
			continue
		}
		for target, pos := range f.imports() {
			if !own.allows(f, target) {
				found = append(found, fmt.Sprintf("%s: %s must not import %s. %s", f.at(pos), own.folder, target, own.reason))
			}
		}
	}
	return found
}

func layerOf(dir string) (layer, bool) {
	var best layer
	for _, l := range layers() {
		if within(dir, l.folder) && len(l.folder) > len(best.folder) {
			best = l
		}
	}
	return best, best.folder != ""
}

func (l layer) allows(f file, target string) bool {
	// A provider may import only its own packages, not another provider's.
	if l.folder == "providers" && within(target, "providers") {
		return provider(target) == provider(f.dir())
	}
	allowed := append([]string{l.folder}, l.may...)
	if f.isTest() {
		allowed = append(allowed, l.tests...)
	}
	return slices.ContainsFunc(allowed, func(folder string) bool { return folder == "." || within(target, folder) })
}

// provider returns the name of the provider that a folder below providers/ belongs to.
func provider(dir string) string { return strings.Split(dir+"/", "/")[1] }

func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}
