// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resumeSkew is how far the clock of the person who resumes deletions may be ahead.
const resumeSkew = 5 * time.Minute

// GetDeletionsResumed returns when a person last resumed deletions of a ProviderConfig, all or those of the namespace, or the zero time.
// Deletions of the future cannot be resumed: nothing would pause them (N39).
func GetDeletionsResumed(config metav1.Object, namespace string) time.Time {
	return later(resumedAt(config, AnnotationKeyResumeDeletions), resumedAt(config, AnnotationPrefixResumeDeletions+namespace))
}

func resumedAt(config metav1.Object, key string) time.Time {
	at := annotatedTime(config, key)
	if time.Until(at) > resumeSkew {
		return time.Time{}
	}
	return at
}

// SetDeletionsResumed resumes deletions that were paused until then: those of the namespace, or all if it is empty.
func SetDeletionsResumed(config metav1.Object, namespace string, at time.Time) {
	key := AnnotationKeyResumeDeletions
	if namespace != "" {
		key = AnnotationPrefixResumeDeletions + namespace
	}
	setAnnotatedTime(config, key, at)
}

// ResumeAnnotations returns the annotations of a ProviderConfig that resume deletions.
func ResumeAnnotations(config metav1.Object) map[string]string {
	found := map[string]string{}
	for key, value := range config.GetAnnotations() {
		if key == AnnotationKeyResumeDeletions || strings.HasPrefix(key, AnnotationPrefixResumeDeletions) {
			found[key] = value
		}
	}
	return found
}
