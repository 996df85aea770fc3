package env_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/tidelock/tidelock/test/env"
)

const podTimeout = 30 * time.Second

// runPod runs a shell command in a busybox of the node, and returns the pod once its phase is the wanted one.
func runPod(t *testing.T, node *env.NodeCluster, namespace, command string, wanted corev1.PodPhase) *corev1.Pod {
	t.Helper()
	pods := coreClient(t, node.ControlPlane).Pods(namespace)
	none := int64(0)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "shell-"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &none,
			Containers: []corev1.Container{{
				Name: "shell", Image: "busybox", ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"sh", "-c", command},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, podTimeout, true, func(ctx context.Context) (bool, error) {
		pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && pod.Status.Phase == wanted, err
	})
	if err != nil {
		t.Fatalf("wait for pod %s to be %s: %v: %+v", pod.Name, wanted, err, pod.Status)
	}
	return pod
}

func TestPodRunsAndItsOutputCanBeRead(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	namespace := node.Namespace(t)
	pod := runPod(t, node, namespace, "echo it is $(expr 6 '*' 7)", corev1.PodSucceeded)
	logs, err := coreClient(t, node.ControlPlane).Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || string(logs) != "it is 42\n" {
		t.Errorf("the pod's log is %q, %v", logs, err)
	}
}

func TestPodsAndThisMachineReachEachOther(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(node.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: podTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "from the machine")
		}),
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	command := fmt.Sprintf("cd /tmp && wget -q -O index.html http://%s/ && httpd -f -p 8000", listener.Addr())
	pod := runPod(t, node, node.Namespace(t), command, corev1.PodRunning)
	var body []byte
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, podTimeout, true, func(ctx context.Context) (bool, error) {
		body, err = fetch(ctx, "http://"+net.JoinHostPort(pod.Status.PodIP, "8000")+"/")
		return err == nil, nil // it may not listen yet
	})
	if err != nil || string(body) != "from the machine" {
		t.Errorf("the pod answers %q, %v", body, err)
	}
}

func TestProgramOfThisMachineRunsAsAnImage(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	namespace := node.Namespace(t)
	pods := coreClient(t, node.ControlPlane).Pods(namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "tidelock"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "tidelock", Image: "tidelock:latest", ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"version"},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, podTimeout, true, func(ctx context.Context) (bool, error) {
		pod, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase == corev1.PodFailed {
			err = errors.New("it failed")
		}
		return err == nil && pod.Status.Phase == corev1.PodSucceeded, err
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, pod.Status)
	}
	logs, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil || !strings.Contains(string(logs), "tidelock") {
		t.Errorf("tidelock version prints %q, %v", logs, err)
	}
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Timeout: time.Second}).Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	return body, errors.Join(err, res.Body.Close())
}
