// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// WriteTree writes a trace for people.
func WriteTree(w io.Writer, root *Node) error {
	out := bufio.NewWriter(w)
	write(out, root, "", "", "")
	return out.Flush()
}

// write writes a node after its branch, and its children after the stem.
func write(out *bufio.Writer, n *Node, role, branch, stem string) {
	fmt.Fprintln(out, branch+role+n.title()+": "+n.state())
	bar := "   "
	if len(n.Children) > 0 {
		bar = "│  "
	}
	for _, line := range n.remarks() {
		fmt.Fprintln(out, stem+bar+line)
	}
	for i, child := range n.Children {
		next, further := "├─ ", "│  "
		if i == len(n.Children)-1 {
			next, further = "└─ ", "   "
		}
		write(out, child, string(child.Role)+" ", stem+next, stem+further)
	}
}

func (n *Node) title() string {
	var words []string
	if n.Kind != "" && n.Role != RoleSecret {
		words = append(words, n.Kind)
	}
	if n.Name != "" {
		words = append(words, inspect.Path(n.Namespace, n.Name))
	}
	if len(words) == 0 {
		return "(none)"
	}
	return inspect.Plain(strings.Join(words, " "))
}

func (n *Node) state() string {
	var details []string
	if n.Phase != "" {
		details = append(details, n.Phase)
	}
	for _, c := range n.Conditions {
		if c.Type == "Ready" || c.Type == "Synced" || c.Status == "False" {
			details = append(details, fmt.Sprintf("%s %s: %s", c.Type, c.Status, c.Reason))
		}
	}
	if n.Reported != "" {
		details = append(details, "reported "+n.Reported)
	}
	if len(n.Keys) > 0 {
		details = append(details, "keys "+strings.Join(n.Keys, ", "))
	}
	text := string(n.State)
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return inspect.Plain(text)
}

func (n *Node) remarks() (lines []string) {
	for _, p := range n.Problems {
		lines = append(lines, "! "+inspect.Plain(p))
	}
	if n.Message != "" {
		lines = append(lines, inspect.Plain(n.Message))
	}
	return lines
}

// WriteDOT writes a trace as a graph for Graphviz: bowline trace ... -o dot | dot -Tsvg.
func WriteDOT(w io.Writer, root *Node) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "digraph trace {\n\trankdir=LR;\n\tnode [shape=box, style=filled, fontname=\"sans-serif\"];\n")
	count := 0
	draw(out, root, &count)
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

func draw(out *bufio.Writer, n *Node, count *int) string {
	name := fmt.Sprintf("n%d", *count)
	*count++
	lines := append([]string{string(n.Role), n.title(), n.state()}, n.remarks()...)
	fmt.Fprintf(out, "\t%s [label=%s, fillcolor=%s];\n", name, dotText(lines), n.colour())
	for _, child := range n.Children {
		fmt.Fprintf(out, "\t%s -> %s;\n", name, draw(out, child, count))
	}
	return name
}

// dotText quotes lines as one label, aligned left.
func dotText(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var label strings.Builder
	for _, line := range lines {
		label.WriteString(escape.Replace(line) + `\l`)
	}
	return `"` + label.String() + `"`
}

func (n *Node) colour() string {
	switch n.State {
	case StateReady, StatePresent, StateInStep:
		if len(n.Problems) > 0 {
			return "lightsalmon"
		}
		return "palegreen"
	case StateWaiting, StateDeleting, StatePaused:
		return "khaki"
	case StateNoAccess, StateUnknown:
		return "lightgrey"
	default:
		return "lightsalmon"
	}
}
