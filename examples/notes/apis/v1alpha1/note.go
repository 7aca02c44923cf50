// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NoteParameters are the settings of a note.
// https://pkg.go.dev/os#Root.WriteFile
type NoteParameters struct {
	// Text of the note.
	// +bowline:required
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Text *string `json:"text,omitempty"`
	// Mode of the file, as three octal digits. Default: 600.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-7]{3}$`
	Mode *string `json:"mode,omitempty"`
}

// NoteObservation is the observed state of a note.
type NoteObservation struct {
	// Path of the file.
	Path string `json:"path,omitempty" connection:"path"`
	// Size of the file in bytes.
	Size int64 `json:"size,omitempty"`
}

// A Note is a file in a folder. Its name in the folder is the external name.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Note struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NoteSpec   `json:"spec"`
	Status NoteStatus `json:"status,omitempty"`
}
