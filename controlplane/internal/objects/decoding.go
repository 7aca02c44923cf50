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

// decodingOnce shares the decoded form of a stored custom object between the request that wrote it, all watches, and the request that changes
// it next. Decoding applies the schema of the kind and takes several times as long as a copy.
type decodingOnce struct {
	runtime.Codec
	mu     sync.Mutex                 // not held while an object is decoded, since conversion may call a webhook
	recent [32]weak.Pointer[decoding] // by a hash of the data, until garbage is collected
}

// decoding is the result of decoding data. It is never changed.
type decoding struct {
	data   []byte
	object *unstructured.Unstructured
	kind   *schema.GroupVersionKind
}

var seed = maphash.MakeSeed()

// Decode implements runtime.Decoder. The caller may change the object.
func (c *decodingOnce) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	slot := &c.recent[maphash.Bytes(seed, data)%uint64(len(c.recent))]
	c.mu.Lock()
	d := slot.Value()
	c.mu.Unlock()
	if d == nil || !bytes.Equal(d.data, data) {
		object, kind, err := c.Codec.Decode(data, defaults, nil)
		decoded, ok := object.(*unstructured.Unstructured)
		if err != nil || !ok {
			return object, kind, err
		}
		d = &decoding{data, decoded, kind}
		c.mu.Lock()
		*slot = weak.Make(d)
		c.mu.Unlock()
	}
	object, ok := into.(*unstructured.Unstructured)
	if !ok {
		return d.object.DeepCopy(), d.kind, nil
	}
	d.object.DeepCopyInto(object)
	return object, d.kind, nil
}
