// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// WriteText writes an explanation for people, with ages as of now.
func WriteText(w io.Writer, e *Explanation, now time.Time) error {
	out := bufio.NewWriter(w)
	for ; e != nil; e = e.Because {
		e.write(out, now)
		if e.Because != nil {
			fmt.Fprint(out, "\nIts managed resource:\n")
		}
	}
	return out.Flush()
}

func (e *Explanation) write(out *bufio.Writer, now time.Time) {
	fmt.Fprintln(out, e.headline())
	list(out, "Causes:", e.Blockers)
	if e.LastStep != nil {
		fmt.Fprintln(out, "Last step: "+e.LastStep.text(now))
	}
	if e.LastError != nil {
		title := "Last error: "
		if e.LastError.Over {
			title = "Last error, resolved: "
		}
		fmt.Fprintln(out, title+e.LastError.text(now))
	}
	if e.NextTry != "" {
		fmt.Fprintln(out, "Next reconcile: "+inspect.Plain(e.NextTry))
	}
	list(out, "What to do:", e.Actions)
	for _, note := range e.Notes {
		fmt.Fprintln(out, "Note: "+inspect.Plain(note))
	}
}

func (e *Explanation) headline() string {
	state := map[State]string{
		StateFine:     "is fine",
		StateWaiting:  "is waiting",
		StateFailing:  "is failing",
		StatePaused:   "is paused",
		StateDeleting: "is being deleted",
	}[e.State]
	if e.State == StateFailing && e.Ready {
		state = "is ready, but the last reconcile failed"
	}
	if e.Phase != "" {
		state += " (" + e.Phase + ")"
	}
	return inspect.Plain(e.Kind + " " + inspect.Path(e.Namespace, e.Name) + " " + state + ".")
}

func list(out *bufio.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintln(out, title)
	for _, item := range items {
		fmt.Fprintln(out, "  - "+inspect.Plain(item))
	}
}

func (h *Happening) text(now time.Time) string {
	text := h.Message
	if h.Reason != "" {
		text = h.Reason + ": " + text
	}
	if !h.At.IsZero() {
		text = fmt.Sprintf("%s ago (%s), %s", duration.HumanDuration(now.Sub(h.At)), h.At.Local().Format(time.DateTime), text)
	}
	return inspect.Plain(text)
}
