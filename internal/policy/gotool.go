// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// linked asks the go command what every package and test binary below root links.
func linked(root string) (map[string][]string, error) {
	output, err := goCommand(root, "list", "-test", "-json=ImportPath,Deps", "./...")
	if err != nil {
		return nil, err
	}
	deps := map[string][]string{}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var pkg struct {
			ImportPath string
			Deps       []string
		}
		switch err := decoder.Decode(&pkg); {
		case errors.Is(err, io.EOF):
			return deps, nil
		case err != nil:
			return nil, fmt.Errorf("reading go list: %w", err)
		}
		name := strings.TrimSuffix(plain(pkg.ImportPath), ".test")
		for _, dep := range pkg.Deps {
			deps[name] = append(deps[name], plain(dep))
		}
	}
}

// plain removes what go list adds to packages that are compiled anew for a test: "p [q.test]" is p.
func plain(importPath string) string {
	name, _, _ := strings.Cut(importPath, " ")
	return name
}

// replacements returns the replace directives of the module in dir. With one, `go install` of our commands would not
// work from outside.
func replacements(dir string) ([]string, error) {
	output, err := goCommand(dir, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var mod struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(output, &mod); err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	var found []string
	for _, r := range mod.Replace {
		found = append(found, fmt.Sprintf("go.mod: %s is replaced by %s", r.Old.Path, r.New.Path))
	}
	return found, nil
}

func goCommand(dir string, args ...string) ([]byte, error) {
	var stderr strings.Builder
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = dir, &stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return output, nil
}
