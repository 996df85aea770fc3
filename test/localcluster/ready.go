package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
)

const (
	readyPoll    = 50 * time.Millisecond
	readyTimeout = 2 * time.Minute
)

// waitReady returns when the API server is ready and has made the default namespace.
func waitReady(ctx context.Context, c controlPlane) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfigPath(pki.Admin))
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := probe(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w (last: %w)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func probe(ctx context.Context, client kubernetes.Interface) error {
	if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return err
	}
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	return err
}
