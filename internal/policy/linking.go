// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// serverCode lists what only an API server links, with all that is below it.
//
// Of k8s.io/apiserver some packages are plain vocabulary that clients use too, so its server parts are named.
func serverCode() []string {
	return []string{
		"k8s.io/kubernetes",
		"k8s.io/apiserver/pkg/server",
		"k8s.io/apiserver/pkg/endpoints",
		"k8s.io/apiserver/pkg/registry",
		"k8s.io/apiserver/pkg/storage",
		"k8s.io/apiserver/pkg/admission",
		"k8s.io/apiextensions-apiserver/pkg/apiserver",
		"go.etcd.io/etcd",
	}
}

// servers lists our folders that may link an API server, each with the reason.
func servers() map[string]string {
	return map[string]string{
		"controlplane": "is the server",
		"controlplane/controlplanetest/testserver": "is the server that tests share, in a process of its own",
		"internal/cli":     "starts the server",
		"cmd":              "is internal/cli with a main function",
		"internal/codegen": "checks definitions as the server does; authors run it as bowline generate",
		"test/bench":       "runs the controllers as the product does, in a process of its own",
	}
}

// linksServer returns whether a package of ours may reach server code. The harness is the exception within controlplane:
// provider authors link it into their tests.
func linksServer(pkg string) bool {
	if pkg == "controlplane/controlplanetest" {
		return false
	}
	for folder := range servers() {
		if within(pkg, folder) {
			return true
		}
	}
	return false
}

// linking returns the packages that reach server code though they must not. deps maps each package of ours, test
// binaries included, to everything it links.
func linking(deps map[string][]string) []string {
	var found []string
	for pkg, reached := range deps {
		dir := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		if linksServer(dir) {
			continue
		}
		for _, forbidden := range serverCode() {
			for _, dep := range reached {
				if within(dep, forbidden) {
					found = append(found, fmt.Sprintf("%s links %s", pkg, dep))
					break
				}
			}
		}
	}
	return found
}

// linked returns what every package and test binary below root links, by import path.
func linked(root string) (map[string][]string, error) {
	var stderr strings.Builder
	cmd := exec.Command("go", "list", "-test", "-f", `{{.ImportPath}}{{"\t"}}{{join .Deps "\t"}}`, "./...")
	cmd.Dir, cmd.Stderr = root, &stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	deps := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		var name string
		for i, field := range strings.Split(strings.TrimSpace(line), "\t") {
			pkg, _, _ := strings.Cut(field, " ") // "p [q.test]" is p, compiled again for a test
			if i == 0 {
				name = strings.TrimSuffix(strings.TrimSuffix(pkg, ".test"), "_test")
			} else {
				deps[name] = append(deps[name], pkg)
			}
		}
	}
	return deps, nil
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s#]*)(#[^)\s]+)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// brokenLinks returns the links of pages to files, headings and ids of the repository that do not exist.
func brokenLinks(root fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return skipDir(name)
		case path.Ext(name) != ".md":
			return nil
		}
		page, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(page), -1) {
			target, anchor := path.Join(path.Dir(name), m[1]), strings.TrimPrefix(m[2], "#")
			if m[1] == "" {
				target = name
			}
			if !strings.Contains(m[1], "://") && !leads(root, target, anchor) {
				found = append(found, fmt.Sprintf("%s: nothing is at %s%s", name, m[1], m[2]))
			}
		}
		return nil
	})
	return found, err
}

func leads(root fs.FS, target, anchor string) bool {
	if anchor == "" || path.Ext(target) != ".md" {
		_, err := fs.Stat(root, target)
		return err == nil
	}
	page, err := fs.ReadFile(root, target)
	if err != nil {
		return false
	}
	for _, m := range heading.FindAllStringSubmatch(string(page), -1) {
		if strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return strings.Contains(string(page), `<a id="`+anchor+`"></a>`)
}
