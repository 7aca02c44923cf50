// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestGenerate(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		err  string // a part of it
	}{
		"nothing forgotten (T25)":  {[]string{"--check", "../codegen/testdata/cloud/apis/..."}, exitOK, ""},
		"mistakes in a type (O23)": {[]string{"--check", "../codegen/testdata/wrong/apis/..."}, exitError, "thing.go:12:2: documented: "},
		"no folder":                {nil, exitUsage, "See 'bowline generate --help'."},
	} {
		t.Run(name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			args := append([]string{"bowline", "generate"}, tc.args...)
			code := Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
			if code != tc.code || !strings.Contains(stderr.String(), tc.err) {
				t.Errorf("exit code %d\nstdout:\n%s\nstderr:\n%s", code, &out, &stderr)
			}
		})
	}
}
