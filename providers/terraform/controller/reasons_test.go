// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each reason that this package and those of the objects declare has one explanation, so that docs/reasons.md is complete.
func TestReasons(t *testing.T) {
	t.Parallel()
	explained := map[string]bool{}
	for _, e := range Reasons() {
		if explained[string(e.Reason)] || e.Meaning == "" {
			t.Errorf("%s: twice, or without meaning", e.Reason)
		}
		explained[string(e.Reason)] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("../../../pkg/terraform/*/*.go")
	if err != nil || len(others) == 0 {
		t.Fatal(others, err)
	}
	declared := 0
	for _, name := range append(files, others...) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(strings.ToLower(spec.Names[0].Name), "reason") {
				return true
			}
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				declared++
				if reason, err := strconv.Unquote(text.Value); err != nil || !explained[reason] {
					t.Errorf("%s of %s has no explanation", spec.Names[0].Name, name)
				}
			}
			return true
		})
	}
	if declared != len(explained) {
		t.Errorf("%d reasons are declared, %d explained", declared, len(explained))
	}
}
