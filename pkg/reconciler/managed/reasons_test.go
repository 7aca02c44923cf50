// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Every reason that the code names has an explanation, and no explanation is of a reason that is gone.
func TestReasonsAreExplained(t *testing.T) {
	t.Parallel()
	explained := map[string]bool{}
	for _, e := range Reasons() {
		if e.Meaning == "" || explained[string(e.Reason)] {
			t.Errorf("%s has no meaning, or two (R204)", e.Reason)
		}
		explained[string(e.Reason)] = true
	}
	for _, reason := range namedReasons(t) {
		if !explained[reason] {
			t.Errorf("%s has no explanation in Reasons (R204)", reason)
		}
		delete(explained, reason)
	}
	for reason := range explained {
		t.Errorf("%s is explained and never given (R204)", reason)
	}
}

// namedReasons returns the values of the constants in reasons.go.
func namedReasons(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, v := range spec.Values {
			if literal, ok := v.(*ast.BasicLit); ok {
				reason, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, reason)
			}
		}
		return false
	})
	return all
}
