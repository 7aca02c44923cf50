// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// mayReadMessages lists the folders, or functions as "folder function", that may read messages, with the reason.
func mayReadMessages() map[string]string {
	return map[string]string{
		"favouritecloud/internal/httpapi decodeRefusal": "encoding/json has no type for an unknown field",
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
		for _, function := range f.functions() {
			for _, at := range readsMessage(function) {
				if key := messageExcuse(f.dir(), function.Name.Name); key != "" {
					excused[key] = true
					continue
				}
				found = append(found, fmt.Sprintf("%s: function %s reads a message", f.at(at), function.Name.Name))
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

func messageExcuse(dir, function string) string {
	for key := range mayReadMessages() {
		if key == dir+" "+function || within(dir, key) {
			return key
		}
	}
	return ""
}

// readsMessage returns the places where a function looks into a message: a call of package strings or of a regular expression
// that finds something in it, or a comparison with a literal.
func readsMessage(function *ast.FuncDecl) []token.Pos {
	if function.Body == nil {
		return nil
	}
	messages := messageVariables(function.Body)
	var found []token.Pos
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.CallExpr:
			if finds(n) && slices.ContainsFunc(n.Args, func(e ast.Expr) bool { return isMessage(e, messages) }) {
				found = append(found, n.Pos())
			}
		case *ast.BinaryExpr:
			if comparesText(n.X, n.Y, messages, n.Op) || comparesText(n.Y, n.X, messages, n.Op) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// finds reports whether a call looks for something in a string.
func finds(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name := selector.Sel.Name
	if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "strings" {
		for _, prefix := range []string{"Contains", "Count", "Cut", "EqualFold", "Fields", "HasPrefix", "HasSuffix", "Index",
			"LastIndex", "Split"} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return strings.HasPrefix(name, "MatchString") || strings.HasPrefix(name, "FindString") || strings.HasPrefix(name, "FindAllString")
}

func comparesText(message, text ast.Expr, messages map[string]bool, op token.Token) bool {
	literal, ok := text.(*ast.BasicLit)
	return (op == token.EQL || op == token.NEQ) && ok && literal.Value != `""` && isMessage(message, messages)
}

// isMessage reports whether an expression is a field Message, a call of Error(), a variable that was set to one, or a variable
// that is called message.
func isMessage(e ast.Expr, messages map[string]bool) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name == "Message"
	case *ast.Ident:
		return messages[e.Name] || e.Name == "message" || e.Name == "msg"
	case *ast.CallExpr:
		selector, ok := e.Fun.(*ast.SelectorExpr)
		if !ok || len(e.Args) == 0 {
			return ok && selector.Sel.Name == "Error"
		}
		// A part of a message, such as strings.ToLower(message), is one, too.
		pkg, ok := selector.X.(*ast.Ident)
		return ok && pkg.Name == "strings" && slices.ContainsFunc(e.Args, func(a ast.Expr) bool { return isMessage(a, messages) })
	}
	return false
}

// messageVariables returns the names of variables that a function sets to a message.
func messageVariables(body *ast.BlockStmt) map[string]bool {
	messages := map[string]bool{}
	ast.Inspect(body, func(node ast.Node) bool {
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
