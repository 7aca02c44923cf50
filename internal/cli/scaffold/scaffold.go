// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold has the commands that begin a provider and its kinds: init provider writes a repository that builds, tests and runs, and
// create api adds a kind to it. What they write belongs to the author, and works before the first change.
package scaffold

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/bowline-dev/bowline/internal/codegen"
)

// files are the templates. A file whose name ends in .tmpl is one, and others are copied.
//
//go:embed all:templates
var files embed.FS

const suffix = ".tmpl"

// A bowline is the module that providers depend on.
type bowline struct {
	Module, Version string
	Folder          string // of a checkout, if the version is not published
	Requirements    string // those in its go.mod: the versions that it is tested with, of which go mod tidy keeps what is needed
}

// A change is what a command does to a repository. It can be undone, so that a failed command leaves nothing behind.
type change struct {
	created []string          // files
	before  map[string][]byte // content of files that are changed
}

// render writes a folder of templates into another one, where nothing may be replaced.
func (c *change) render(from, to string, data any) error {
	return fs.WalkDir(files, "templates/"+from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "templates/"+from+"/"), suffix)
		if name == "gitignore" || name == "dockerignore" { // here, they would have effects
			name = "." + name
		}
		return c.renderFile(strings.TrimPrefix(path, "templates/"), filepath.Join(to, filepath.FromSlash(name)), data)
	})
}

// renderFile writes one file into a new one.
func (c *change) renderFile(from, to string, data any) error {
	content, err := files.ReadFile("templates/" + from)
	if err == nil && strings.HasSuffix(from, suffix) {
		content, err = execute(from, string(content), data)
	}
	if err != nil {
		return err
	}
	return c.create(to, content)
}

func execute(path, text string, data any) ([]byte, error) {
	functions := template.FuncMap{"title": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }}
	t, err := template.New(path).Funcs(functions).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".go"+suffix) {
		return format.Source(out.Bytes())
	}
	return out.Bytes(), nil
}

// create writes a file that does not exist.
func (c *change) create(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists, and nothing is replaced", path)
	}
	if err != nil {
		return err
	}
	c.created = append(c.created, path)
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// read returns the content of a file, to which undo sets it back.
func (c *change) read(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err == nil && c.before[path] == nil {
		if c.before == nil {
			c.before = map[string][]byte{}
		}
		c.before[path] = content
	}
	return content, err
}

// insert writes a line before a marker in a Go file, unless the file has it.
func (c *change) insert(path, marker, line string) error {
	content, err := c.read(path)
	if err != nil {
		return err
	}
	text, mark := string(content), "// +bowline:scaffold:"+marker
	if strings.Contains(text, line+"\n") {
		return nil
	}
	if !strings.Contains(text, mark) {
		return fmt.Errorf("%s has no comment %s: add this line yourself:\n%s", path, mark, line)
	}
	formatted, err := format.Source([]byte(strings.Replace(text, mark, line+"\n"+mark, 1)))
	if err != nil {
		return fmt.Errorf("changing %s: %w", path, err)
	}
	return os.WriteFile(path, formatted, 0o644)
}

// undo removes what was created, with folders that are empty then, and restores what was changed.
func (c *change) undo() error {
	var all []error
	for _, path := range c.created {
		all = append(all, os.Remove(path))
		for dir := filepath.Dir(path); os.Remove(dir) == nil; dir = filepath.Dir(dir) {
			continue
		}
	}
	for path, content := range c.before {
		all = append(all, os.WriteFile(path, content, 0o644))
	}
	return errors.Join(all...)
}

// generate generates what follows from the API types, and completes go.mod: before, since the generator loads the packages of the types, and
// after, since generated files import others.
func generate(ctx context.Context, dir string) error {
	err := tidy(ctx, dir, "-e") // imports of packages that are not generated yet are no errors
	if err == nil {
		var changed bytes.Buffer
		if err = codegen.Command(ctx, &changed, dir, false, "./apis"); err != nil {
			err = fmt.Errorf("generating code in %s: %w", dir, err)
		}
	}
	if err == nil {
		err = tidy(ctx, dir)
	}
	return err
}

func tidy(ctx context.Context, dir string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"mod", "tidy"}, flags...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running go mod tidy in %s: %w\n%s", dir, err, bytes.TrimSpace(out))
	}
	return nil
}

// plural is the English plural of a word in lower case, as controller-gen forms it for usual words.
func plural(word string) string {
	switch {
	case regexp.MustCompile(`[^aeiou]y$`).MatchString(word):
		return strings.TrimSuffix(word, "y") + "ies"
	case regexp.MustCompile(`(s|x|z|ch|sh)$`).MatchString(word):
		return word + "es"
	}
	return word + "s"
}

// noun splits the words of a kind: MessageQueue is a message queue.
func noun(kind string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(kind, "$1 $2"))
}

// article is that of a noun.
func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}
