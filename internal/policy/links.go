// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

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
			return skipDir(root, name)
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
