package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
)

const (
	readyPoll    = 50 * time.Millisecond
	readyTimeout = 2 * time.Minute
)

// waitReady returns when the API server is ready, has made the default namespace, and lets the controllers work: they end
// where they are refused at their start, and the authorizer hears of the roles a moment after they are made.
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
	if _, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{}); err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:kube-controller-manager",
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: metav1.NamespaceSystem, Verb: "create", Resource: "serviceaccounts",
		},
	}}
	answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err == nil && !answer.Status.Allowed {
		err = errors.New("the controllers are not allowed yet to make service accounts")
	}
	return err
}
