// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state stores what Terraform providers have to remember of external resources: one Secret for each managed resource, in a namespace
// that no application team reads.
//
// A state holds secrets, some of which nothing else has, such as a generated password. So it is stored right after the change that made it,
// before anything else is written, and is deleted no sooner than its object.
package state

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

const (
	// SecretType is the type of the Secrets with states.
	SecretType = meta.SecretTypeState
	// NamePrefix is before the UID of the object in the names of the Secrets.
	NamePrefix = "tfstate-"
	// LabelKeyKind is the label for the kind of the object, as plural.group.
	LabelKeyKind = "terraform.bowline.dev/kind"
	// LabelKeyEmpty is the label of a state of what does not exist, as far as is known.
	LabelKeyEmpty = "terraform.bowline.dev/empty"
	// LabelKeyName and LabelKeyID are the labels for the external name, or the import id of what is being created, and the attribute id, as hashes
	// with the resource type.
	LabelKeyName = "terraform.bowline.dev/name"
	LabelKeyID   = "terraform.bowline.dev/id"
	// The annotations say which object a state is of: AnnotationKeyObject has namespace and name.
	AnnotationKeyAPIVersion = "terraform.bowline.dev/api-version"
	AnnotationKeyKind       = "terraform.bowline.dev/kind"
	AnnotationKeyObject     = "terraform.bowline.dev/object"
)

// mostPlain is the size of the largest value that is stored as it is, in bytes: the API server takes Secrets of 1 MiB at most.
const mostPlain = 512 << 10

// The keys of the Secrets. keyState and keyPrivate are the provider's own. A large value is compressed, with keyLarge instead of keyState.
const (
	keyType     = "type"
	keySystem   = "system"
	keyConfig   = "providerConfig"
	keyName     = "externalName"
	keyState    = "state"
	keyLarge    = "state.gz"
	keyPrivate  = "private"
	keyIdentity = "identity"
	keyVersion  = "schemaVersion"
	keyTainted  = "tainted"
	keyCreates  = "creating"
	keyReplaces = "replacing"
	keyObserved = "observed"
	keyImportID = "importID"
	keyAbsent   = "absentBefore"
	keyMissing  = "missingSince"
	keyOwner    = "ownership"
	keyTakenBy  = "takenBy"
	keyList     = "listConfig"
	keyChange   = "change"
	keyFormer   = "former.gz"
)

// A State is what is stored of one external resource.
type State struct {
	Place                         // when Value was stored, or of what is being created
	Name          string          // external name of what Value describes
	Value         json.RawMessage // nil: there is no external resource, or no answer yet
	SchemaVersion int64           // of Value
	Private       []byte
	Identity      []byte
	Tainted       bool   // its creation failed in part
	Creating      string // the journal that notes the answer to a creation that began; empty for none
	Change        string // identifies the change whose answer this is, or, with Creating, the creation that began
	Replacing     bool   // it is, or was, deleted in order to create another one
	Observed      bool   // the object does not change it
	TakenBy       Owner  // the object that has it now; zero for the object itself. Only Own removes it

	// ImportID is that of what the creation makes; empty if it is not known beforehand. AbsentBefore is true if nothing had it before.
	ImportID     string
	AbsentBefore bool
	// Ownership is the field in which what the creation makes has the label of the object, empty for none. ListConfig is the configuration of a
	// list that has it; nil if it cannot be listed.
	Ownership    string
	ListConfig   json.RawMessage
	MissingSince time.Time // when nothing was found of a creation that was interrupted; zero for never

	// Former is the state of the external resource that the object had before a person gave it the external name of another one, with that of
	// the one before; nil for none.
	Former *State
}

// FormerOf returns the state of the external resource that the object had under a former external name, nil for none.
func (s *State) FormerOf(name string) *State {
	former := s.Former
	for former != nil && former.Name != name {
		former = former.Former
	}
	return former
}

// Without returns a state and its former ones but for that of an external name; nil for none.
func (s *State) Without(name string) *State {
	switch {
	case s == nil:
		return nil
	case s.Name == name:
		return s.Former.Without(name)
	}
	kept := *s
	kept.Former = s.Former.Without(name)
	return &kept
}

// Empty is true for the state of what does not exist, as far as is known.
func (s *State) Empty() bool { return s.Value == nil }

// A Store reads and writes the states of the objects of one manager. It is safe for concurrent use, and keeps what it read: no other process
// writes the states of the same objects.
type Store struct {
	client    client.Client
	live      client.Reader
	namespace string

	known  sync.Map // *record by the UID of the object
	owners sync.Map // *sync.Mutex by resource type: see LockOwners
	kinds  sync.Map // registered by schema.GroupVersionKind
	// creating has the types.UID of objects with a creation that this process has begun.
	creating sync.Map
	// unstored has the *corev1.Secret with a state that could not be stored yet, by the UID of the object.
	unstored sync.Map
}

type record struct {
	mu     sync.Mutex
	loaded bool
	state  *State         // as it was last known
	stored *corev1.Secret // nil: none is stored
	dirty  bool           // state is not stored yet
	lost   *lostState     // what OtherWithoutState found last
}

// NewStore returns a store whose Secrets are in a namespace. live reads without a cache.
func NewStore(c client.Client, live client.Reader, namespace string) *Store {
	return &Store{client: c, live: live, namespace: namespace}
}

// NewReader returns a store for plans, which keeps what is saved and never writes it.
func NewReader(live client.Reader, namespace string) *Store {
	return &Store{live: live, namespace: namespace}
}

// ReadOnly is true for the store of plans: nothing is to be written anywhere, and what the controllers do meanwhile is not known.
func (s *Store) ReadOnly() bool { return s.client == nil }

func (s *Store) recordOf(uid types.UID) *record {
	known, _ := s.known.LoadOrStore(uid, &record{})
	return known.(*record)
}

// Load returns the state of an object, nil if none was ever stored. It must not be changed.
func (s *Store) Load(ctx context.Context, of types.UID) (*State, error) {
	r := s.recordOf(of)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := s.load(ctx, of, r); err != nil {
		return nil, err
	}
	return r.state, nil
}

func (s *Store) load(ctx context.Context, of types.UID, r *record) error {
	if r.loaded {
		return nil
	}
	secret := &corev1.Secret{}
	err := s.live.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: NamePrefix + string(of)}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil // a person may restore it
	case err != nil:
		return failure.With(failure.InternalError, fmt.Errorf("reading the state: %w", err))
	}
	state, err := decode(secret)
	if err != nil {
		return failure.Terminal(failure.With(failure.StateLost, fmt.Errorf("the state in Secret %s/%s is damaged, since %w: restore the Secret from a "+
			"backup, or delete it to have this object say how to do without", s.namespace, secret.Name, err)))
	}
	r.state, r.stored, r.loaded = state, secret, true
	return nil
}

// saving bounds how long Save tries: the change is made, and the API server may be away for a moment.
var saving = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 9, Cap: 20 * time.Second}

// Save stores the state of an object, whatever becomes of the context. Where that fails the state is kept, and stored by the next Save or
// Flush; only a process that ends before loses it. TakenBy stays as it is stored, if it is not set: another object may take the resource during
// a change.
func (s *Store) Save(ctx context.Context, of client.Object, kind schema.GroupResource, state *State) error {
	r := s.recordOf(of.GetUID())
	r.mu.Lock()
	defer r.mu.Unlock()
	saved := *state
	if r.state != nil && saved.TakenBy == (Owner{}) {
		saved.TakenBy = r.state.TakenBy
	}
	return s.save(ctx, of, kind, r, &saved)
}

func (s *Store) save(ctx context.Context, of client.Object, kind schema.GroupResource, r *record, state *State) error {
	r.state, r.loaded, r.dirty = state, true, !s.ReadOnly()
	if s.ReadOnly() {
		return nil
	}
	return s.flush(context.WithoutCancel(ctx), of, kind, r)
}

// Flush stores what an earlier Save could not.
func (s *Store) Flush(ctx context.Context, of client.Object, kind schema.GroupResource) error {
	r := s.recordOf(of.GetUID())
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.dirty {
		return nil
	}
	return s.flush(ctx, of, kind, r)
}

func (s *Store) flush(ctx context.Context, of client.Object, kind schema.GroupResource, r *record) error {
	lasts := func(err error) bool {
		return ctx.Err() == nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsRequestEntityTooLargeError(err)
	}
	err := retry.OnError(saving, lasts, func() error { return s.write(ctx, of, kind, r) })
	if err != nil {
		whose := ""
		if r.state.Name != "" { // so that a person finds the resource if the state is never stored
			whose = fmt.Sprintf(" of the external resource %q", r.state.Name)
		}
		return failure.With(failure.InternalError, fmt.Errorf("storing the state%s: %w", whose, err))
	}
	r.dirty = false
	return nil
}

func (s *Store) write(ctx context.Context, of client.Object, kind schema.GroupResource, r *record) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: NamePrefix + string(of.GetUID())}}
	before := r.stored
	if before != nil {
		secret = before.DeepCopy()
	}
	secret.Type, secret.Data = SecretType, encode(r.state)
	secret.Labels = objects.Union(r.state.names(), map[string]string{LabelKeyKind: kind.String(), LabelKeyEmpty: strconv.FormatBool(r.state.Empty())})
	version, name := of.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	secret.Annotations = map[string]string{AnnotationKeyAPIVersion: version, AnnotationKeyKind: name,
		AnnotationKeyObject: client.ObjectKeyFromObject(of).String()}
	var err error
	if r.stored == nil {
		err = s.client.Create(ctx, secret)
	} else {
		err = s.client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		s.unstored.Store(of.GetUID(), secret)
	}
	switch {
	case err == nil:
		r.stored = secret
		s.unstored.Delete(of.GetUID())
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err): // an earlier attempt whose answer was lost, or a person
		current := &corev1.Secret{}
		if read := s.live.Get(ctx, client.ObjectKeyFromObject(secret), current); read != nil {
			return errors.Join(err, read)
		}
		r.stored = current
	case apierrors.IsNotFound(err): // a person deleted it
		r.stored = nil
	}
	return err
}

// Forget drops what the store knows of an object that is gone, and deletes its Secret.
func (s *Store) Forget(ctx context.Context, of types.UID) error {
	s.known.Delete(of)
	s.unstored.Delete(of)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: NamePrefix + string(of)}}
	return client.IgnoreNotFound(s.client.Delete(ctx, secret))
}

func encode(s *State) map[string][]byte {
	data := map[string][]byte{keyVersion: strconv.AppendInt(nil, s.SchemaVersion, 10)}
	for key, text := range map[string]string{keyType: s.Type, keySystem: s.System, keyConfig: s.Config, keyName: s.Name, keyCreates: s.Creating, keyChange: s.Change,
		keyImportID: s.ImportID, keyOwner: s.Ownership} {
		if text != "" {
			data[key] = []byte(text)
		}
	}
	for key, is := range map[string]bool{keyTainted: s.Tainted, keyReplaces: s.Replacing, keyObserved: s.Observed, keyAbsent: s.AbsentBefore} {
		if is {
			data[key] = []byte("true")
		}
	}
	switch {
	case len(s.Value) > mostPlain:
		data[keyLarge] = compress(s.Value)
	case s.Value != nil:
		data[keyState] = s.Value
	}
	if s.Private != nil {
		data[keyPrivate] = s.Private
	}
	if s.Identity != nil {
		data[keyIdentity] = s.Identity
	}
	if s.Former != nil {
		former, _ := json.Marshal(s.Former) // its fields have no type that fails
		data[keyFormer] = compress(former)
	}
	if s.TakenBy != (Owner{}) {
		data[keyTakenBy] = []byte(s.TakenBy.UID + " " + s.TakenBy.Object)
	}
	if s.ListConfig != nil {
		data[keyList] = s.ListConfig
	}
	if !s.MissingSince.IsZero() {
		data[keyMissing] = s.MissingSince.UTC().AppendFormat(nil, time.RFC3339Nano)
	}
	return data
}

func decode(secret *corev1.Secret) (*State, error) {
	version, err := strconv.ParseInt(string(secret.Data[keyVersion]), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("key %s is no number", keyVersion)
	}
	text := func(key string) string { return string(secret.Data[key]) }
	is := func(key string) bool { return text(key) == "true" }
	s := &State{Place: Place{Type: text(keyType), System: text(keySystem), Config: text(keyConfig)}, Name: text(keyName), SchemaVersion: version, Private: secret.Data[keyPrivate],
		Identity: secret.Data[keyIdentity], Tainted: is(keyTainted), Creating: text(keyCreates), Change: text(keyChange), Replacing: is(keyReplaces),
		Observed: is(keyObserved), ImportID: text(keyImportID), AbsentBefore: is(keyAbsent), Ownership: text(keyOwner), ListConfig: secret.Data[keyList]}
	s.TakenBy.UID, s.TakenBy.Object, _ = strings.Cut(string(secret.Data[keyTakenBy]), " ")
	if since, has := secret.Data[keyMissing]; has {
		if s.MissingSince, err = time.Parse(time.RFC3339Nano, string(since)); err != nil {
			return nil, fmt.Errorf("key %s is no time", keyMissing)
		}
	}
	if former, has := secret.Data[keyFormer]; has {
		if err := json.Unmarshal(expand(former), &s.Former); err != nil {
			return nil, fmt.Errorf("key %s is no state", keyFormer)
		}
	}
	if s.Value, err = valueOf(secret); err != nil {
		return nil, err
	}
	if s.Value == nil && secret.Labels[LabelKeyEmpty] == "false" {
		return nil, fmt.Errorf("key %s is missing, and the label %s says that there is one", keyState, LabelKeyEmpty)
	}
	for _, label := range []string{LabelKeyName, LabelKeyID} {
		if labelled, has := secret.Labels[label]; has && labelled != s.names()[label] {
			return nil, fmt.Errorf("keys %s (%q) and %s are of another external resource than the label %s says", keyName, s.Name, keyState, label)
		}
	}
	return s, nil
}

// valueOf returns the value that a Secret has, nil for none.
func valueOf(secret *corev1.Secret) (json.RawMessage, error) {
	key := keyState
	value, has := secret.Data[keyState]
	if !has {
		var compressed []byte
		if compressed, has = secret.Data[keyLarge]; !has {
			return nil, nil
		}
		key, value = keyLarge, expand(compressed)
	}
	if !json.Valid(value) || bytes.Equal(value, []byte("null")) {
		return nil, fmt.Errorf("key %s is no JSON of a value", key)
	}
	return value, nil
}

func compress(value []byte) []byte {
	var compressed bytes.Buffer
	to := gzip.NewWriter(&compressed)
	_, _ = to.Write(value) // a buffer takes all
	_ = to.Close()
	return compressed.Bytes()
}

// expand is the reverse of compress. It returns nothing for what is not compressed, and no more than a provider may send.
func expand(compressed []byte) []byte {
	from, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil
	}
	value, err := io.ReadAll(io.LimitReader(from, wire.MostReceived))
	if err != nil {
		return nil
	}
	return value
}
