// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mayReadMessages lists the folders, or functions as "folder function", that may read messages, with the reason.
func mayReadMessages() map[string]string {
	return map[string]string{
		"favouritecloud/internal/httpapi decodeRefusal": "encoding/json has no type for an unknown field",
		"controlplane Error":                            "Kubernetes logs an error at each start that nothing but its text distinguishes",
	}
}

// messageReaders returns the places in non-test code that decide on the text of a condition, an event or an error: text is for
// people and may change at any time. Code may print, wrap and compare whole messages.
func messageReaders(t tree) []string {
	var found []string
	excused := map[string]bool{}
	for _, f := range t.handwritten() {
		if f.isTest() {
			continue
		}
		for _, declaration := range f.syntax.Decls {
			function, _ := declaration.(*ast.FuncDecl)
			for _, at := range readsMessage(declaration) {
				if key := messageExcuse(f.dir(), function); key != "" {
					excused[key] = true
					continue
				}
				found = append(found, f.at(at)+": code reads a message")
			}
		}
	}
	for key := range mayReadMessages() {
		folder, _, _ := strings.Cut(key, " ")
		if !excused[key] && t.has(folder) {
			found = append(found, key+" reads no message any more: delete it from mayReadMessages()")
		}
	}
	return found
}

func messageExcuse(dir string, function *ast.FuncDecl) string {
	for key := range mayReadMessages() {
		if function != nil && key == dir+" "+function.Name.Name || within(dir, key) {
			return key
		}
	}
	return ""
}

// readsMessage returns the places where a declaration looks into a message: a call that finds something in it, a switch, an index,
// or a comparison with anything but another message or nothing.
func readsMessage(declaration ast.Decl) []token.Pos {
	messages := messageVariables(declaration)
	of := func(e ast.Expr) bool { return isMessage(e, messages) }
	var found []token.Pos
	ast.Inspect(declaration, func(node ast.Node) bool {
		reads := false
		switch n := node.(type) {
		case *ast.CallExpr:
			reads = finds(n) && slices.ContainsFunc(n.Args, of)
		case *ast.SwitchStmt:
			reads = n.Tag != nil && of(n.Tag)
		case *ast.IndexExpr:
			reads = of(n.Index)
		case *ast.BinaryExpr:
			reads = (n.Op == token.EQL || n.Op == token.NEQ) && of(n.X) != of(n.Y) &&
				!slices.Contains([]string{"nil", `""`}, types.ExprString(n.Y))
		}
		if reads {
			found = append(found, node.Pos())
		}
		return true
	})
	return found
}

// finds reports whether a call looks for something in a text.
func finds(call *ast.CallExpr) bool {
	function := types.ExprString(call.Fun)
	dot := max(strings.LastIndex(function, "."), 0)
	prefixes := []string{"Match", "Find", "ReplaceAll"} // of a regular expression
	if slices.Contains([]string{"strings", "bytes", "slices"}, function[:dot]) {
		prefixes = []string{"Contains", "Count", "Cut", "EqualFold", "Fields", "HasPrefix", "HasSuffix", "Index", "LastIndex", "Split"}
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(function[dot:], "."+prefix) })
}

// isMessage reports whether an expression is a field Message, a call of Error(), a printed error, a variable that was set to one, or
// a variable that is called message.
func isMessage(e ast.Expr, messages map[string]bool) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "Message"
	case *ast.Ident:
		return messages[e.Name] || e.Name == "message" || e.Name == "msg"
	case *ast.CallExpr:
		name := types.ExprString(e.Fun)
		if len(e.Args) == 0 {
			return strings.HasSuffix(name, ".Error")
		}
		pkg, _, _ := strings.Cut(name, ".")
		printed := strings.HasPrefix(name, "fmt.Sprint")
		// A part of a message, such as strings.ToLower(message), is one, too.
		return (printed || slices.Contains([]string{"strings", "bytes", "string", "[]byte", "redact"}, pkg)) &&
			slices.ContainsFunc(e.Args, func(a ast.Expr) bool {
				return isMessage(a, messages) || printed && types.ExprString(a) == "err"
			})
	}
	return false
}

// messageVariables returns the names of variables that a declaration sets to a message.
func messageVariables(in ast.Decl) map[string]bool {
	messages := map[string]bool{}
	ast.Inspect(in, func(node ast.Node) bool {
		assign, ok := node.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, value := range assign.Rhs {
			if name, ok := assign.Lhs[i].(*ast.Ident); ok && isMessage(value, messages) {
				messages[name.Name] = true
			}
		}
		return true
	})
	return messages
}
