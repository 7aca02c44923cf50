// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A Fault is an entry of faults.json, a list that is read at each call. The first that matches a call happens.
type Fault struct {
	Verb  string `json:"verb"`  // create, read, update, delete, import or list; "" is each
	Type  string `json:"type"`  // of the resource; "" is each
	When  When   `json:"when"`  // default: before
	Do    Action `json:"do"`    // what happens
	Delay string `json:"delay"` // of Delay, such as 200ms
	// Times is how often it happens. The file is changed each time, so that the end of the process changes nothing. 0 is always.
	Times   int    `json:"times,omitempty"`
	Message string `json:"message"` // of the error
}

// A When is before or after the vendor changes the object. After is with a lost answer if the call fails: the provider returns no state.
// With During the provider knows the object, and returns its state with the error.
type When string

// The times of a fault.
const (
	Before When = "before"
	During When = "during"
	After  When = "after"
)

// An Action is what a fault does.
type Action string

// The actions. Hang and Delay end when the call is cancelled: by the client, StopProvider or a timeout. The call then fails, with a state if
// the object exists by then.
const (
	Fail    Action = "fail"
	Exit    Action = "exit" // of the process of the provider
	Hang    Action = "hang"
	Delay   Action = "delay"
	Partial Action = "partial" // fail after the change, with a state that has only the id
	Taint   Action = "taint"   // fail after the change, with the whole state
)

// A Failure is the error of a fault.
type Failure struct {
	Message string
	Whole   bool // the state that is returned with it is that of a success
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// IsWhole reports whether the state that is returned with an error is that of a success: other states have only the id.
func IsWhole(err error) bool {
	failure, ok := errors.AsType[*Failure](err)
	return ok && failure.Whole
}

func (f Fault) after() bool {
	return f.When == During || f.When == After || f.Do == Partial || f.Do == Taint
}

func (f Fault) answerLost() bool { return f.Do == Fail && f.When == After }

// happen returns when the call goes on, or has failed.
func (f Fault) happen(ctx context.Context) error {
	message := f.Message
	if message == "" {
		message = "a fault was injected"
	}
	var pause time.Duration
	switch f.Do {
	case Fail, Partial, Taint:
		return &Failure{Message: message, Whole: f.Do == Taint}
	case Exit:
		os.Exit(1)
	case Hang:
		pause = 24 * time.Hour
	case Delay:
		var err error
		if pause, err = time.ParseDuration(f.Delay); err != nil {
			return fmt.Errorf("delay of faults.json: %w", err)
		}
	case "":
	default:
		return fmt.Errorf("faults.json has an action that does not exist: %q", f.Do)
	}
	if pause == 0 {
		return nil
	}
	end, waits := time.After(pause), time.NewTicker(100*time.Millisecond)
	defer waits.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the call was cancelled: %w", context.Cause(ctx))
		case <-end:
			return nil
		case <-waits.C:
			log.Print("[DEBUG] still waiting") // as providers do: it ends a process whose reader has gone
		}
	}
}

// takeFault returns the fault of a call, the zero one if nothing happens.
func (v *Vendor) takeFault(verb, kind string) (fault Fault, err error) {
	file := filepath.Join(v.Folder, "faults.json")
	err = v.locked(func() error {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		var faults []Fault
		if err := errors.Join(err, unmarshal(content, &faults)); err != nil {
			return fmt.Errorf("reading faults.json: %w", err)
		}
		i := slices.IndexFunc(faults, func(f Fault) bool {
			return (f.Verb == "" || f.Verb == verb) && (f.Type == "" || f.Type == kind)
		})
		if i < 0 {
			return nil
		}
		fault = faults[i]
		if fault.Times == 0 {
			return nil
		}
		if faults[i].Times--; faults[i].Times == 0 { // 0 would be always
			faults = slices.Delete(faults, i, i+1)
		}
		return write(file, faults)
	})
	return fault, err
}

// unmarshal keeps numbers as they are written.
func unmarshal(content []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	return decoder.Decode(into)
}
