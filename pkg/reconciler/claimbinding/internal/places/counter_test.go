// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package places

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A class whose users cannot be listed has no place for a claim, whatever its own list has.
func TestFullWithoutAnswer(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	c := Counter{Managed: func(context.Context, client.Reader) ([]resource.BindableManaged, error) { return nil, boom }}
	class := &shop.ItemClass{}
	class.SpecTemplate.Claims.Max = ptr.To[int64](2)
	if _, err := c.full(t.Context(), class, map[types.UID]entry{"a": "Item.shop"}, "b"); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}
