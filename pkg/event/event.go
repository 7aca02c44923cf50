// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package event records what happened to an object as Kubernetes events.
//
// Unlike the recorders of client-go it writes each event immediately and drops none under load; the reconcilers emit events only
// on changes. Equal events about the same object become one event with a count (R205).
package event

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A Reason is a CamelCase identifier of an event.
type Reason string

// An Explanation documents a reason. The page docs/reasons.md is generated from them.
type Explanation struct {
	Reason  Reason
	Meaning string
	Action  string // for the user; empty if none is required
}

// Explain returns the explanation of a reason.
func Explain(r Reason, meaning, action string) Explanation {
	return Explanation{Reason: r, Meaning: meaning, Action: action}
}

// An Event is something that happened to an object.
type Event struct {
	Type    string // Normal or Warning
	Reason  Reason
	Message string // for people, without changing text such as times or request ids, so that equal events aggregate
}

// Normal returns an event that requires no action.
func Normal(r Reason, message string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: r, Message: message}
}

// Warning returns an event that may require action.
func Warning(r Reason, err error) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: r, Message: err.Error()}
}

// A Recorder records events.
type Recorder interface {
	// Event records an event about the object. An error means that it was not recorded.
	Event(ctx context.Context, about client.Object, e Event) error
}

// maxMessage is the longest message that the API server accepts.
const maxMessage = 1024

// defaultNamespace holds the events of cluster-scoped objects, as kubectl expects.
const defaultNamespace = metav1.NamespaceDefault

// An APIRecorder records events in the API server.
type APIRecorder struct {
	client client.Client
	reader client.Reader
	source string
	now    func() time.Time
}

// NewAPIRecorder returns a recorder whose events have the given source, for example managed/bucket.example.org
// (R203). The reader must not be a cache: a cache would watch every event of the cluster.
func NewAPIRecorder(c client.Client, reader client.Reader, source string) *APIRecorder {
	return &APIRecorder{client: c, reader: reader, source: source, now: time.Now}
}

// Event creates the event, or increments the count of an equal event that the API server still has (one hour).
func (r *APIRecorder) Event(ctx context.Context, about client.Object, e Event) error {
	ev, err := r.build(about, e)
	if err != nil {
		return err
	}
	if err := r.client.Create(ctx, ev); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return r.count(ctx, ev)
}

func (r *APIRecorder) build(about client.Object, e Event) (*corev1.Event, error) {
	gvk, err := apiutil.GVKForObject(about, r.client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("describing the object of an event: %w", err)
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage-3], "") + "..."
	}
	now := metav1.NewTime(r.now())
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: cmp.Or(about.GetNamespace(), defaultNamespace), Name: r.name(about, e)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: about.GetNamespace(), Name: about.GetName(),
			UID: about.GetUID(), ResourceVersion: about.GetResourceVersion(),
		},
		Type: e.Type, Reason: string(e.Reason), Message: e.Message, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: r.source}, ReportingController: r.source,
	}, nil
}

// name is the same for equal events about the same object.
func (r *APIRecorder) name(about client.Object, e Event) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%s", about.GetUID(), r.source, e.Type, e.Reason, e.Message))
	const maxName = 253 - 17 // leaves room for the dot and 16 digits
	prefix := strings.TrimRight(about.GetName()[:min(len(about.GetName()), maxName)], "-.")
	return prefix + "." + hex.EncodeToString(sum[:8])
}

func (r *APIRecorder) count(ctx context.Context, again *corev1.Event) error {
	have := &corev1.Event{}
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(again), have); err != nil {
		return err
	}
	base := have.DeepCopy()
	have.Count++
	have.LastTimestamp = again.LastTimestamp
	return r.client.Patch(ctx, have, client.MergeFrom(base))
}
