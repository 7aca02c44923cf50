// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"bytes"
	"hash/maphash"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// decodingOnce decodes a stored custom object once for all who ask for it within moments: the request that wrote it, each watch, and the
// request that changes it next. Decoding applies the schema of the kind and takes several times as long as a copy.
type decodingOnce struct {
	runtime.Codec
	lately [32]struct {
		sync.Mutex                        // held while it is decoded, so that others wait for the result
		object     weak.Pointer[decoding] // until garbage is collected
	}
}

// decoding is the result of decoding data. It is never changed.
type decoding struct {
	data   []byte
	object *unstructured.Unstructured
	kind   *schema.GroupVersionKind
}

var seed = maphash.MakeSeed()

// Decode is a runtime.Decoder. The object is of the caller.
func (c *decodingOnce) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	slot := &c.lately[maphash.Bytes(seed, data)%uint64(len(c.lately))]
	slot.Lock()
	defer slot.Unlock()
	d := slot.object.Value()
	if d == nil || !bytes.Equal(d.data, data) {
		object, kind, err := c.Codec.Decode(data, defaults, nil)
		decoded, ok := object.(*unstructured.Unstructured)
		if err != nil || !ok {
			return object, kind, err
		}
		d = &decoding{data, decoded, kind}
		slot.object = weak.Make(d)
	}
	object, ok := into.(*unstructured.Unstructured)
	if !ok {
		return d.object.DeepCopy(), d.kind, nil
	}
	d.object.DeepCopyInto(object)
	return object, d.kind, nil
}
