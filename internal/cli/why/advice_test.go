// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// TestReasonOfEveryError reads the source of package managed: where a step ends in an error that begins with a fixed text,
// this package must know the reason by that text.
func TestReasonOfEveryError(t *testing.T) {
	t.Parallel()
	values := map[string]string{} // names of constants, as the source has them
	checked := 0
	files, err := filepath.Glob("../../../pkg/reconciler/managed/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && strings.HasPrefix(spec.Names[0].Name, "Reason") {
				values[spec.Names[0].Name] = literal(spec.Values[0])
			}
			return true
		})
	}
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			ends, _ := call.Fun.(*ast.Ident)
			reason, _ := call.Args[0].(*ast.Ident)
			made, _ := call.Args[1].(*ast.CallExpr)
			if ends == nil || reason == nil || made == nil || len(made.Args) == 0 || values[reason.Name] == "" {
				return true
			}
			text, _, _ := strings.Cut(literal(made.Args[0]), "%")
			if by, ok := made.Fun.(*ast.Ident); ok && by.Name == "callFailed" {
				text += " the external resource: "
			}
			if text == "" {
				return true
			}
			checked++
			if got := reasonOf(text); got != values[reason.Name] {
				t.Errorf("%s: an error that begins with %q has reason %q here, want %s", f.Name, text, got, values[reason.Name])
			}
			return true
		})
	}
	if checked < 20 {
		t.Errorf("found %d errors in the source of package managed, fewer than there are", checked)
	}
}

// literal returns the text of a literal, or of the first of a sum.
func literal(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.BinaryExpr:
			e = x.X
			continue
		case *ast.BasicLit:
			text, err := strconv.Unquote(x.Value)
			if err != nil {
				return ""
			}
			return text
		}
		return ""
	}
}

// No beginning may be the beginning of another, or the reason would be a matter of luck.
func TestBeginningsAreDistinct(t *testing.T) {
	t.Parallel()
	for a := range beginnings() {
		for b := range beginnings() {
			if a != b && strings.HasPrefix(a, b) {
				t.Errorf("%q begins with %q", a, b)
			}
		}
	}
}

// What package limits says of calls that were not made is recognized.
func TestCallsThatWereNotMade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"throttled": {&limits.NotSentError{Why: "the external system does not answer", After: time.Second},
			"The external system is left alone for a while: "},
		"refused": {&limits.NotSentError{Reason: failure.ExternalSystemRefused, After: time.Second}, "The external system refuses the credentials of "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &inquiry{Explanation: &Explanation{}, synced: xpv1.ReconcileError(tc.err)}
			q.checkCalls()
			if len(q.Blockers) != 1 || !strings.HasPrefix(q.Blockers[0], tc.want) || !q.throttled() {
				t.Errorf("%v gives %q, held back: %t", tc.err, q.Blockers, q.throttled())
			}
		})
	}
}

// Every reason of a bad event has an action, as has every reason why a claim gets nothing.
func TestActions(t *testing.T) {
	t.Parallel()
	for _, known := range managed.Reasons() {
		bad := strings.HasPrefix(string(known.Reason), "Cannot")
		if got := actionOf(string(known.Reason)); got != known.Action || bad && got == "" {
			t.Errorf("reason %s has action %q", known.Reason, got)
		}
	}
	for _, reason := range []xpv1.ConditionReason{
		xpv1.ReasonNoMatchingClass, xpv1.ReasonAmbiguousDefaultClass, xpv1.ReasonClassNotFound, xpv1.ReasonNotAllowed,
		xpv1.ReasonLimitReached, xpv1.ReasonResourceLost,
	} {
		if actionOf(string(reason)) == "" {
			t.Errorf("reason %s has no action", reason)
		}
	}
	if got := actionOf(string(corev1.NamespaceActive)); got != "" {
		t.Errorf("what is no reason has action %q", got)
	}
}
