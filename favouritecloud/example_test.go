// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/bowline-dev/bowline/favouritecloud"
)

// A cloud that runs until it is interrupted.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cloud, err := favouritecloud.New(favouritecloud.Config{DataDir: "./state"})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		<-cloud.Ready()
		fmt.Println("ready at", cloud.URL())
	}()
	if err := cloud.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
