package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
)

const nodeTimeout = time.Minute

// awaitNode returns when the images are there and the node takes pods, or one of its parts has ended.
func (s *supervisor) awaitNode(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	for _, name := range []string{runtimeName, kubeletName, proxyName} {
		p := s.running[name]
		alive, release := p.context(ctx)
		defer release()
		ctx = alive
	}
	err := s.plane.importImages(ctx)
	if err == nil {
		err = s.plane.awaitReadyNode(ctx)
	}
	for _, name := range []string{runtimeName, kubeletName, proxyName} {
		if p := s.running[name]; err != nil && p.exited() {
			return p.failure()
		}
	}
	return err
}

func (c controlPlane) awaitReadyNode(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfigPath(pki.Admin))
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := nodeReady(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the node: %w (last: %w)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func nodeReady(ctx context.Context, client kubernetes.Interface) error {
	node, err := client.CoreV1().Nodes().Get(ctx, pki.NodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return errors.New(condition.Message)
		}
		// The controllers lift the taint a moment after.
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("the node has the taint %s", node.Spec.Taints[0].ToString())
		}
		return nil
	}
	return errors.New("the kubelet has not said how the node is")
}
