package env

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	namespaceTimeout = 30 * time.Second
	namePrefixLength = 40
)

// Namespace makes a namespace of the test's own, whose default service account is there, so that Pods are
// admitted. It is deleted when the test has ended; nobody waits for that.
func (c *ControlPlane) Namespace(tb testing.TB) string {
	tb.Helper()
	client, err := typedcorev1.NewForConfig(c.config)
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	wanted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: namePrefix(tb.Name())}}
	namespace, err := client.Namespaces().Create(tb.Context(), wanted, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), namespaceTimeout)
		defer cancel()
		if err := client.Namespaces().Delete(ctx, namespace.Name, metav1.DeleteOptions{}); err != nil {
			tb.Errorf("delete namespace %s: %v", namespace.Name, err)
		}
	})
	err = poll(tb.Context(), namespaceTimeout, func(ctx context.Context) error {
		_, err := client.ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		tb.Fatalf("wait for the default service account of namespace %s: %v", namespace.Name, err)
	}
	return namespace.Name
}

// namePrefix makes the start of a namespace's name from a test's, so that a leftover names its test.
func namePrefix(test string) string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(test), "-")
	return strings.Trim(name[:min(len(name), namePrefixLength)], "-") + "-"
}
