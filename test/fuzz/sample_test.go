// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fuzz reconciles objects of all kinds whose settings and status are filled at random, and of a sample of all types.
package fuzz

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

var sampleKind = schema.GroupVersionKind{Group: "sample.bowline.dev", Version: "v1", Kind: "Sample"}

// A sample is a managed resource with a setting of each type.
type sample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		xpv1.ResourceSpec `json:",inline"`
		ForProvider       settings  `json:"forProvider"`
		InitProvider      *settings `json:"initProvider,omitempty"`
	} `json:"spec"`
	Status struct {
		xpv1.ResourceStatus `json:",inline"`
		AtProvider          settings `json:"atProvider,omitempty"`
	} `json:"status,omitempty"`
}

type settings struct {
	numbers           `json:",inline"`
	Nested            *numbers                `json:"nested,omitempty"`
	Always            numbers                 `json:"always"`
	List              []numbers               `json:"list,omitempty"`
	ByName            map[string]numbers      `json:"byName,omitempty"`
	Flag              *bool                   `json:"flag,omitempty"`
	Text              string                  `json:"text,omitempty"`
	TextPtr           *string                 `json:"textPtr,omitempty"`
	Bytes             []byte                  `json:"bytes,omitempty"`
	Texts             []string                `json:"texts,omitempty"`
	Required          []string                `json:"required"`
	TextPtrs          []*string               `json:"textPtrs,omitempty"`
	Tags              map[string]string       `json:"tags,omitempty"`
	TagPtrs           map[string]*string      `json:"tagPtrs,omitempty"`
	Matrix            [][]int64               `json:"matrix,omitempty"`
	JSON              *apiextensionsv1.JSON   `json:"json,omitempty"`
	Quantity          *resource.Quantity      `json:"quantity,omitempty"`
	Time              metav1.Time             `json:"time,omitzero"`
	TimePtr           *metav1.Time            `json:"timePtr,omitempty"`
	MicroTime         *metav1.MicroTime       `json:"microTime,omitempty"`
	Duration          *metav1.Duration        `json:"duration,omitempty"`
	Port              *intstr.IntOrString     `json:"port,omitempty"`
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty"`
}

type numbers struct {
	Int        int      `json:"int,omitempty"`
	Int8       *int8    `json:"int8,omitempty"`
	Int64      int64    `json:"int64"`
	Uint8      uint8    `json:"uint8,omitempty"`
	Uint32     *uint32  `json:"uint32,omitempty"`
	Uint64     uint64   `json:"uint64,omitempty"`
	Uint64Ptr  *uint64  `json:"uint64Ptr,omitempty"`
	Float32    float32  `json:"float32,omitempty"`
	Float64    float64  `json:"float64"`
	Float64Ptr *float64 `json:"float64Ptr,omitempty"`
}

func (s *sample) Parameters() *settings                            { return &s.Spec.ForProvider }
func (s *sample) InitParameters() any                              { return s.Spec.InitProvider }
func (s *sample) Observation() *settings                           { return &s.Status.AtProvider }
func (s *sample) SetConditions(c ...xpv1.Condition)                { s.Status.SetConditions(c...) }
func (s *sample) GetCondition(t xpv1.ConditionType) xpv1.Condition { return s.Status.GetCondition(t) }
func (s *sample) SetManagementPolicies(p xpv1.ManagementPolicies)  { s.Spec.ManagementPolicies = p }
func (s *sample) GetManagementPolicies() xpv1.ManagementPolicies   { return s.Spec.ManagementPolicies }
func (s *sample) SetDrift(d []xpv1.FieldDifference)                { s.Status.Drift = d }
func (s *sample) GetDrift() []xpv1.FieldDifference                 { return s.Status.Drift }

func (s *sample) DeepCopyObject() runtime.Object {
	finite, number := *s, s.Status.AtProvider.Float64
	finite.Status.AtProvider.Float64 = 0 // JSON has no infinite numbers
	c := copyByJSON(&finite)
	c.Status.AtProvider.Float64 = number
	return c
}

func (s *settings) DeepCopy() *settings {
	finite := *s
	finite.Float64 = 0
	c := copyByJSON(&finite)
	c.Float64 = s.Float64
	return c
}

func copyByJSON[T any](from *T) *T {
	to := new(T)
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(err)
	}
	return to
}
