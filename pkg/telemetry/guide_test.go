// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// The guide lists what there is and names nothing else.
func TestGuide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	known := map[string]bool{}
	for _, d := range telemetry.Definitions() {
		row := fmt.Sprintf("\n| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help)
		if !strings.Contains(guide, row) {
			t.Errorf("the guide lacks this line:%s", row)
		}
		known[d.Name] = true
		if d.Type == telemetry.Histogram {
			known[d.Name+"_bucket"], known[d.Name+"_count"], known[d.Name+"_sum"] = true, true, true
		}
	}
	for _, name := range regexp.MustCompile(`bowline_[a-z_]+[a-z]`).FindAllString(guide, -1) {
		if !known[name] {
			t.Errorf("the guide names %s, which nobody records", name)
		}
	}
	if !strings.Contains(guide, "http://"+telemetry.DefaultListen+"/metrics") {
		t.Error("the guide does not say where metrics are")
	}
}
