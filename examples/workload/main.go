// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command workload is a program of the application in application.yaml. It has nothing but the kubeconfig of the cluster, reads there what
// Bowline put there, and asks the database.
//
//	go run ./examples/workload apps.kubeconfig
package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const namespace = "store"

var errUsage = errors.New("usage: workload <kubeconfig of the cluster>")

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	err := run(ctx, os.Args[1:])
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	cluster, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	settings, err := cluster.CoreV1().ConfigMaps(namespace).Get(ctx, "settings", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	secret, err := cluster.CoreV1().Secrets(namespace).Get(ctx, "orders", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Secret of the database: %w", err)
	}
	one, err := ask(ctx, secret.Data)
	if err != nil {
		return fmt.Errorf("asking the database: %w", err)
	}
	fmt.Printf("%s! select 1 returns %d.\n", settings.Data["greeting"], one)
	return nil
}

func ask(ctx context.Context, details map[string][]byte) (one int, err error) {
	address := url.URL{
		Scheme: "postgres", Host: string(details["endpoint"]) + ":" + string(details["port"]), Path: "postgres",
		User: url.UserPassword(string(details["username"]), string(details["password"])),
	}
	connection, err := pgx.Connect(ctx, address.String())
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	err = connection.QueryRow(ctx, "select 1").Scan(&one)
	return one, err
}
