// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package disk is the vendor of the test providers reef and shoal: a folder that survives the end of their processes. Tests read and change
// its files:
//
//	<type>/<id>.json  an object, as the provider last sent it, with what the vendor chose
//	calls.log         a line for each call: time, process id, verb, type and id or "-", separated by spaces
//	faults.json       what goes wrong next, see Fault
//	warning           if it exists, a warning of each read; warning-configure of each process, warning-list of each list
//	token             if it exists, the content that the token of the provider must have
package disk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// An Object is what the vendor stores, as JSON has it.
type Object map[string]any

// ErrNotFound is returned for an object that does not exist.
var ErrNotFound = errors.New("not found at the vendor")

// A Vendor is a client of a folder.
type Vendor struct {
	Folder string
	Token  string // compared with the file "token", if there is one
	Leak   bool   // whether the error about a wrong token contains the token
}

// Create stores what build returns for the id that the vendor has chosen. An error with an id is about an object that exists.
func (v *Vendor) Create(ctx context.Context, kind string, build func(id string) Object) (id string, err error) {
	_, short, _ := strings.Cut(kind, "_")
	id = short + "-" + random(5)
	exists, err := v.call(ctx, "create", kind, id, func() error { return v.store(kind, id, build(id)) })
	if err != nil && !exists {
		return "", err
	}
	return id, err
}

// Read returns an object.
func (v *Vendor) Read(ctx context.Context, kind, id string) (o Object, err error) {
	_, err = v.call(ctx, "read", kind, id, func() error {
		o, err = v.load(kind, id)
		return err
	})
	return o, err
}

// Update stores what change returns for an object. changed is true after an error that left the object changed.
func (v *Vendor) Update(ctx context.Context, kind, id string, change func(old Object) Object) (changed bool, err error) {
	return v.call(ctx, "update", kind, id, func() error {
		old, err := v.load(kind, id)
		if err != nil {
			return err
		}
		return v.store(kind, id, change(old))
	})
}

// Delete deletes an object, unless another refers to it. It returns no error if there is none.
func (v *Vendor) Delete(ctx context.Context, kind, id string) error {
	_, err := v.call(ctx, "delete", kind, id, func() error {
		users, err := v.users(id)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return fmt.Errorf("%s is in use by %s: delete that first", id, strings.Join(users, ", "))
		}
		if err := os.Remove(v.file(kind, id)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return err
}

// List returns the objects of a kind by id.
func (v *Vendor) List(ctx context.Context, kind string) (found []Object, err error) {
	_, err = v.call(ctx, "list", kind, "", func() error {
		names, err := filepath.Glob(filepath.Join(v.Folder, kind, "*.json"))
		for _, name := range names {
			o, err := v.load(kind, strings.TrimSuffix(filepath.Base(name), ".json"))
			if err != nil {
				return err
			}
			found = append(found, o)
		}
		return err
	})
	return found, err
}

// Find returns the id of the object that an import names by its id or by its name; the id itself if there is none.
func (v *Vendor) Find(ctx context.Context, kind, name string) (id string, err error) {
	id = name
	_, err = v.call(ctx, "import", kind, name, func() error {
		files, err := filepath.Glob(filepath.Join(v.Folder, kind, "*.json"))
		for _, file := range files {
			o, err := v.load(kind, strings.TrimSuffix(filepath.Base(file), ".json"))
			if err != nil {
				return err
			}
			if o["name"] == name {
				id = strings.TrimSuffix(filepath.Base(file), ".json")
			}
		}
		return err
	})
	return id, err
}

// Touch is a call that concerns no object of the vendor. done is true after an error that came after the call's effect.
func (v *Vendor) Touch(ctx context.Context, verb, kind, id string) (done bool, err error) {
	return v.call(ctx, verb, kind, id, func() error { return nil })
}

// Warning is the content of a file of the vendor: empty if there is none.
func (v *Vendor) Warning(file string) string {
	content, _ := os.ReadFile(filepath.Join(v.Folder, file)) // none where a test wants none
	return string(content)
}

// Log adds a line to calls.log: for calls that the vendor does not see, too.
func (v *Vendor) Log(verb, kind, id string) error {
	if id == "" {
		id = "-"
	}
	file, err := os.OpenFile(filepath.Join(v.Folder, "calls.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %d %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), os.Getpid(), verb, kind, id)
	return errors.Join(err, file.Close())
}

// call makes a call with the fault that is due. done is whether the change was made, and the provider knows it.
func (v *Vendor) call(ctx context.Context, verb, kind, id string, change func() error) (done bool, err error) {
	if err := v.Log(verb, kind, id); err != nil {
		return false, err
	}
	if err := v.authorize(); err != nil {
		return false, err
	}
	fault, err := v.takeFault(verb, kind)
	if err != nil {
		return false, err
	}
	if !fault.after() {
		if err := fault.happen(ctx); err != nil {
			return false, err
		}
	}
	if err := v.locked(change); err != nil {
		return false, err
	}
	if fault.after() {
		if err := fault.happen(ctx); err != nil {
			return !fault.answerLost(), err
		}
	}
	return true, nil
}

func (v *Vendor) authorize() error {
	want, err := os.ReadFile(filepath.Join(v.Folder, "token"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(want)) == v.Token {
		return nil
	}
	if err == nil && v.Leak {
		err = fmt.Errorf("it was %q", v.Token)
	}
	return errors.Join(errors.New("the vendor refused the token: configure a valid one"), err)
}

// locked runs a function while no other process does.
func (v *Vendor) locked(f func() error) error {
	lock, err := os.OpenFile(filepath.Join(v.Folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("locking the folder of the vendor: %w", err)
	}
	return f()
}

// users returns the ids of the objects that refer to a berth.
func (v *Vendor) users(id string) (ids []string, err error) {
	names, err := filepath.Glob(filepath.Join(v.Folder, "*", "*.json"))
	for _, name := range names {
		user := strings.TrimSuffix(filepath.Base(name), ".json")
		o, err := v.load(filepath.Base(filepath.Dir(name)), user)
		if err != nil {
			return nil, err
		}
		if o["berth_id"] == id {
			ids = append(ids, user)
		}
	}
	return ids, err
}

// file returns the path of an object; users choose the ids of imports.
func (v *Vendor) file(kind, id string) string {
	return filepath.Join(v.Folder, kind, strings.ReplaceAll(id, "/", "_")+".json")
}

func (v *Vendor) load(kind, id string) (o Object, err error) {
	content, err := os.ReadFile(v.file(kind, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s %s: %w", kind, id, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return o, unmarshal(content, &o)
}

// store writes an object. One that refers to a berth needs it.
func (v *Vendor) store(kind, id string, o Object) error {
	if berth, refers := o["berth_id"].(string); refers {
		provider, _, _ := strings.Cut(kind, "_")
		if _, err := v.load(provider+"_berth", berth); err != nil {
			return err
		}
	}
	return write(v.file(kind, id), o)
}

// write replaces a file as a whole.
func write(file string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(file), "."+random(5)) // not *.json: List must not find it
	if err := os.WriteFile(next, slices.Concat(content, []byte("\n")), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

func random(bytes int) string {
	id := make([]byte, bytes)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}
