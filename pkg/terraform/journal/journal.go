// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps the answers of Terraform providers to changes, so that a kill of the controllers during a long change loses none.
//
// Between the controllers and a provider stands a process of its own, which runs the same program (Command, Main). It passes all calls on. Of
// each change it first notes on disk that it begins, and then its answer. When the controllers end it waits for the changes that are in
// progress. The next process finds their answers (Find), stores them, and removes the notes (Remove).
package journal

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// A Journal is a folder with notes, one file for each object. They hold states, and so secrets. A nil one has no notes.
type Journal struct {
	folder string
	id     string
}

const nameID = "id"

// Open opens the journal in a folder, which it makes if necessary.
func Open(folder string) (*Journal, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("opening the journal of changes: %w", err)
	}
	name := filepath.Join(folder, nameID)
	id, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeID(folder, name); err == nil {
			id, err = os.ReadFile(name)
		}
	}
	if err == nil && len(id) == 0 {
		err = fmt.Errorf("%s is empty: remove the file", name)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the journal of changes: %w", err)
	}
	return &Journal{folder: folder, id: string(id)}, nil
}

// makeID writes the file with the identity, whole or not at all, unless another process did.
func makeID(folder, name string) error {
	file, err := os.CreateTemp(folder, nameID)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(rand.Text())
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(folder)
}

// NoJournal is the ID of a nil journal.
const NoJournal = "none"

// ID identifies the journal: a creation that it has no note about did not begin.
func (j *Journal) ID() string {
	if j == nil {
		return NoJournal
	}
	return j.id
}

// A Change identifies a change of an object.
type Change struct {
	After   string `json:"after,omitempty"`   // the state.State.Change before it
	Version *int64 `json:"version,omitempty"` // of the schema of its answer; nil if it is not known
}

// A Note is about the last change of an object.
type Note struct {
	Began time.Time // zero for a note without a beginning, as of a damaged disk: it may be about any change
	Change
	Finished bool                 // there is an answer
	Answer   *wire.Apply_Response // nil for a process that ended without one
	Lasting  bool                 // the change is in progress
	Stopped  bool                 // the provider was asked to stop before it answered
}

type line struct {
	Change
	Began   time.Time `json:"began"`
	Answer  []byte    `json:"answer,omitempty"`
	Ended   bool      `json:"ended,omitempty"`
	Stopped bool      `json:"stopped,omitempty"`
}

func (j *Journal) path(object string) string {
	return filepath.Join(j.folder, filepath.Base(object)+".change")
}

var errInProgress = errors.New("another change of the object is in progress")

// begin notes that a change of an object begins. end adds the answer, nil for none, and is called once.
func (j *Journal) begin(object string, change Change) (end func(answer []byte, stopped bool) error, err error) {
	file, err := os.OpenFile(j.path(object), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errInProgress
		}
		return nil, errors.Join(err, file.Close())
	}
	if err := errors.Join(file.Truncate(0), add(file, line{Change: change, Began: began}), syncFolder(j.folder)); err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name())) // nothing was changed
	}
	return func(answer []byte, stopped bool) error {
		return errors.Join(add(file, line{Change: change, Began: began, Answer: answer, Ended: true, Stopped: stopped}), file.Close())
	}, nil
}

func add(to *os.File, l line) error {
	content, err := json.Marshal(l)
	if err == nil {
		_, err = to.Write(append(content, '\n'))
	}
	if err == nil {
		err = to.Sync()
	}
	return err
}

// syncFolder makes the name of a new file last.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Find returns the note about the last change of an object, nil if there is none.
func (j *Journal) Find(object string) (*Note, error) {
	if j == nil {
		return nil, nil
	}
	file, err := os.Open(j.path(object))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	defer file.Close()
	note := &Note{Lasting: syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil}
	for lines := bufio.NewReader(file); ; {
		content, err := lines.ReadBytes('\n')
		if err != nil { // what has no end was being written when the process was killed
			return note, nil
		}
		l := line{}
		if err := json.Unmarshal(content, &l); err != nil {
			return nil, fmt.Errorf("reading the journal %s: %w", file.Name(), err)
		}
		note.Began, note.Change = l.Began, l.Change
		if !l.Ended {
			continue
		}
		note.Finished, note.Stopped = true, l.Stopped
		if l.Answer != nil {
			note.Answer = &wire.Apply_Response{}
			if err := proto.Unmarshal(l.Answer, note.Answer); err != nil {
				return nil, fmt.Errorf("reading the journal %s: %w", file.Name(), err)
			}
		}
	}
}

// Discard removes the note about an object that is gone. It is false if a change of it is in progress: then the note stays.
func (j *Journal) Discard(object string) (bool, error) {
	note, err := j.Find(object)
	if err != nil || note != nil && note.Lasting {
		return false, err
	}
	return true, j.Remove(object)
}

// Remove removes the note about an object, once the answer is stored elsewhere.
func (j *Journal) Remove(object string) error {
	if j == nil {
		return nil
	}
	if err := os.Remove(j.path(object)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a note from the journal of changes: %w", err)
	}
	return nil
}
