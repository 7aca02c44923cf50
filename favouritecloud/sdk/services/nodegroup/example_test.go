// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// Raising the upper bound, and leaving the size to the cloud's autoscaler.
func ExampleClient_Update() {
	client, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: "fck_…"})
	if err != nil {
		log.Fatal(err)
	}
	bounds := []nodegroup.ScalingConfigInput{{MaxSize: new(10)}}
	in := nodegroup.UpdateNodeGroupInput{ScalingConfig: &bounds}
	group, err := nodegroup.NewClient(client).Update(context.Background(), "web", in)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(group.ScalingConfig[0].DesiredSize)
}
