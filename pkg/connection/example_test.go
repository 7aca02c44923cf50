// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/connection"
)

// A claim wants one URL.
func Example() {
	claim := &metav1.ObjectMeta{Annotations: map[string]string{
		connection.AnnotationKeyConnectionKeys: `{"DATABASE_URL": "postgresql://app:$(password)@$(endpoint)/app"}`,
	}}
	content, err := connection.Content(claim, map[string][]byte{"endpoint": []byte("db:5432"), "password": []byte("a/b@c")})
	fmt.Printf("%s\n%s\n%v\n", content["DATABASE_URL"], content["password"], err)
	// Output:
	// postgresql://app:a%2Fb%40c@db:5432/app
	// a/b@c
	// <nil>
}

// annotation is one that derives one key.
func annotation(key, template string) string { return object(map[string]string{key: template}) }

func object(keys map[string]string) string {
	text, err := json.Marshal(keys)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func keys(annotation string) map[string]string {
	return map[string]string{connection.AnnotationKeyConnectionKeys: annotation}
}
