// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Type is the type of a field, as far as its own package defines it.
type Type struct {
	Text        string            // in Go
	Pointer     bool              // *T
	List        bool              // []T and *[]T
	Map         bool              // map[K]T and *map[K]T
	ItemPointer bool              // a list or map of pointers
	Import      string            // path of the package that declares the named type; empty for the package itself and builtin types
	Name        string            // of the type, or of that of the items. Empty for types without a name
	Imports     map[string]string // paths of all packages in Text, by their names there
}

// Collection is true for lists and maps.
func (t Type) Collection() bool { return t.List || t.Map }

// Is is true for a named type of another package.
func (t Type) Is(path, name string) bool { return t.Import == path && t.Name == name }

// A Field of a struct.
type Field struct {
	Name     string   // in Go; that of the type for an embedded field
	JSON     string   // name in JSON; empty for an embedded field that is inlined
	Options  []string // of the json tag, such as omitempty
	Embedded bool     // a field without a name of its own
	Type     Type
	Comment  Comment
	Struct   *Struct // that the field belongs to
	At       token.Position
}

// Omitted is true if JSON omits the field when it is empty.
func (f *Field) Omitted() bool {
	return slices.Contains(f.Options, "omitempty") || slices.Contains(f.Options, "omitzero")
}

// Optional is true if the field has a marker for that.
func (f *Field) Optional() bool {
	return f.Comment.Has("optional") || f.Comment.Has("kubebuilder:validation:Optional")
}

// A Struct is a struct type that an author declared.
type Struct struct {
	Name    string
	Comment Comment
	Fields  []*Field // in their order
	Package *Package
	At      token.Position
}

// Field returns the field of the first of the names in Go that there is, nil if there is none.
func (s *Struct) Field(names ...string) *Field {
	for _, name := range names {
		if f := first(s.Fields, func(f *Field) bool { return f.Name == name }); f != nil {
			return f
		}
	}
	return nil
}

func first[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// Embeds is true if the struct embeds a type of another package.
func (s *Struct) Embeds(path, name string) bool {
	return slices.ContainsFunc(s.Fields, func(f *Field) bool { return f.Embedded && f.Type.Is(path, name) })
}

// Below returns the struct of a field, or of its items; nil if it has none in this API.
func (f *Field) Below() *Struct {
	pkg := f.Struct.Package
	if f.Type.Import != "" {
		pkg = pkg.API.Package(f.Type.Import)
	}
	if pkg == nil {
		return nil
	}
	return pkg.Struct(f.Type.Name)
}

func readStruct(
	pkg *Package, file *ast.File, t *ast.TypeSpec, comment Comment, s *ast.StructType, at func(token.Pos) token.Position,
) *Struct {
	read := &Struct{Name: t.Name.Name, Comment: comment, Package: pkg, At: at(t.Pos())}
	imports := importsOf(file)
	for _, f := range s.Fields.List {
		field := Field{Type: readType(f.Type, imports), Struct: read, At: at(f.Pos()), Comment: readComment(at, f.Doc)}
		if f.Tag != nil {
			if tag, err := strconv.Unquote(f.Tag.Value); err == nil {
				parts := strings.Split(reflect.StructTag(tag).Get("json"), ",")
				field.JSON, field.Options = parts[0], parts[1:]
			}
		}
		if len(f.Names) == 0 {
			field.Name, field.Embedded = field.Type.Name, true
			read.Fields = append(read.Fields, &field)
			continue
		}
		for _, n := range f.Names {
			one := field
			one.Name, one.At = n.Name, at(n.Pos())
			read.Fields = append(read.Fields, &one)
		}
	}
	return read
}

func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	return imports
}

func readType(expr ast.Expr, imports map[string]string) Type {
	t := Type{Text: types.ExprString(expr), Imports: map[string]string{}}
	ast.Inspect(expr, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok {
				t.Imports[pkg.Name] = imports[pkg.Name]
			}
		}
		return true
	})
	if star, ok := expr.(*ast.StarExpr); ok {
		t.Pointer, expr = true, star.X
	}
	switch e := expr.(type) {
	case *ast.ArrayType:
		t.List, expr = true, e.Elt
	case *ast.MapType:
		t.Map, expr = true, e.Value
	}
	if star, ok := expr.(*ast.StarExpr); ok && t.Collection() {
		t.ItemPointer, expr = true, star.X
	}
	switch e := expr.(type) {
	case *ast.Ident:
		t.Name = e.Name
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			t.Import, t.Name = imports[pkg.Name], e.Sel.Name
		}
	}
	return t
}

// A Marker is a line of a comment for programs: +name or +name=value.
type Marker struct {
	Name  string // without the plus sign, such as immutable
	Value string // after the first equals sign, if any
	At    token.Position
}

// String returns the marker as it was written.
func (m Marker) String() string {
	if m.Value == "" {
		return "+" + m.Name
	}
	return "+" + m.Name + "=" + m.Value
}

// A Comment is the comment above a declaration.
type Comment struct {
	Prose   []string // text without markers, by line, without empty lines at either end
	Markers []Marker // in order
}

// Has is true if there is a marker of the name.
func (c Comment) Has(name string) bool {
	return slices.ContainsFunc(c.Markers, func(m Marker) bool { return m.Name == name })
}

// Value returns the value of the first marker of the name, empty if there is none.
func (c Comment) Value(name string) string {
	if i := slices.IndexFunc(c.Markers, func(m Marker) bool { return m.Name == name }); i >= 0 {
		return c.Markers[i].Value
	}
	return ""
}

func (c Comment) isOurs() bool {
	return slices.ContainsFunc(c.Markers, func(m Marker) bool { return strings.HasPrefix(m.Name, "bowline:") })
}

// Text returns the prose as one paragraph.
func (c Comment) Text() string { return strings.TrimSpace(strings.Join(c.Prose, " ")) }

func readComment(at func(token.Pos) token.Position, groups ...*ast.CommentGroup) Comment {
	var c Comment
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, line := range group.List {
			text, ok := strings.CutPrefix(line.Text, "//")
			if !ok || isDirective(text) {
				continue
			}
			text = strings.TrimPrefix(text, " ")
			if marker, ok := strings.CutPrefix(strings.TrimSpace(text), "+"); ok && marker != "" {
				name, value, _ := strings.Cut(marker, "=")
				c.Markers = append(c.Markers, Marker{Name: name, Value: value, At: at(line.Pos())})
				continue
			}
			c.Prose = append(c.Prose, text)
		}
	}
	blank := func(line string) bool { return strings.TrimSpace(line) == "" }
	for len(c.Prose) > 0 && blank(c.Prose[0]) {
		c.Prose = c.Prose[1:]
	}
	for len(c.Prose) > 0 && blank(c.Prose[len(c.Prose)-1]) {
		c.Prose = c.Prose[:len(c.Prose)-1]
	}
	return c
}

// isDirective is true for the text of comments such as //go:generate.
func isDirective(text string) bool {
	return strings.HasPrefix(text, "go:") || strings.HasPrefix(text, "nolint")
}
