// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
)

// emptySchema serves an empty OpenAPI v2, which is off (see adjustGeneric). kubectl reads it before it sends the items of a List; the
// server validates each item.
func emptySchema(w http.ResponseWriter, req *http.Request) {
	const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	if strings.Contains(req.Header.Get("Accept"), protobuf) {
		w.Header().Set("Content-Type", protobuf)
		return // no bytes are an empty message
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"swagger":"2.0","info":{"title":"Bowline","version":"see /openapi/v3"},"paths":{}}`)) // the client may be gone
}
