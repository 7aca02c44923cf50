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
	fmt.Fprintln(out, e.Headline())
	list(out, "What is in the way:", e.Blockers)
	if e.LastStep != nil {
		fmt.Fprintln(out, "Last step: "+e.LastStep.text(now))
	}
	if e.LastError != nil {
		what := "Last error: "
		if e.LastError.Over {
			what = "Last error, which is over: "
		}
		fmt.Fprintln(out, what+e.LastError.text(now))
	}
	if e.NextTry != "" {
		fmt.Fprintln(out, "Looked at again: "+inspect.Plain(e.NextTry))
	}
	list(out, "What to do:", e.Actions)
	for _, note := range e.Notes {
		fmt.Fprintln(out, "Note: "+inspect.Plain(note))
	}
}

// Headline says in one sentence how the object fares.
func (e *Explanation) Headline() string {
	how := map[State]string{
		StateFine:     "is fine: it waits for nothing",
		StateWaiting:  "waits",
		StateFailing:  "fails",
		StatePaused:   "is paused: nobody looks after it",
		StateDeleting: "is being deleted",
	}[e.State]
	if e.State == StateFailing && e.Ready {
		how = "can be used, but the last pass over it failed"
	}
	if e.Phase != "" {
		how += " (" + e.Phase + ")"
	}
	return inspect.Plain(e.Kind + " " + inspect.Path(e.Namespace, e.Name) + " " + how + ".")
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

// text is a happening with its age.
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
