package env_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/tidelock/tidelock/test/env"
)

func coreClient(t *testing.T, plane *env.ControlPlane) *typedcorev1.CoreV1Client {
	t.Helper()
	client, err := typedcorev1.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestClusterServesItsNamespaces(t *testing.T) {
	t.Parallel()
	plane := env.Cluster(t)
	list, err := coreClient(t, plane).Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, ns := range list.Items {
		names[ns.Name] = true
	}
	for _, want := range []string{"default", "kube-system"} {
		if !names[want] {
			t.Errorf("no namespace %s in %v", want, names)
		}
	}
	if again := env.Cluster(t); again != plane {
		t.Error("a second call started a second control plane")
	}
}

func TestNamespaceIsTheTestsOwnAndGoesWithIt(t *testing.T) {
	plane := env.Cluster(t)
	client := coreClient(t, plane)
	var name string
	t.Run("A_test with/odd: characters", func(t *testing.T) {
		name = plane.Namespace(t)
		if other := plane.Namespace(t); other == name {
			t.Errorf("two namespaces are both %s", name)
		}
		if !strings.HasPrefix(name, "testnamespaceisthetestsownandgoeswithit-") {
			t.Errorf("namespace %s does not name its test", name)
		}
	})
	ns, err := client.Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		t.Fatal(err)
	case ns.DeletionTimestamp == nil:
		t.Errorf("namespace %s outlives its test", name)
	}
}

func TestAPIServerGoesAndComesBackOnItsPort(t *testing.T) {
	t.Parallel()
	plane := env.Processes(t)
	client := coreClient(t, plane.ControlPlane)
	name := plane.Namespace(t)
	for reason, down := range map[string]func(testing.TB){
		"stopped": plane.StopAPIServer,
		"killed":  plane.KillAPIServer,
	} {
		down(t)
		if _, err := client.Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			t.Fatalf("the API server answers after it was %s", reason)
		}
		plane.StartAPIServer(t)
		if _, err := client.Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatalf("the API server was %s and started: %v", reason, err)
		}
	}
}

// A controller manager that loses the API server in the middle of its start ends; the plane starts it again.
func TestControllersOutliveTheLossOfTheirAPIServer(t *testing.T) {
	t.Parallel()
	plane := env.Processes(t)
	for range 3 {
		plane.KillAPIServer(t)
		plane.StartAPIServer(t)
	}
	name := plane.Namespace(t)
	watch, err := coreClient(t, plane.ControlPlane).ServiceAccounts(name).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for change := range watch.ResultChan() {
		if change.Type == apiwatch.Added {
			return // the controller manager gave the namespace its account
		}
	}
	t.Error("no controller manager serves the namespace")
}

const helloBootstrap = `
static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: PORT}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: hello
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{match: {prefix: /}, direct_response: {status: 200, body: {inline_string: hello}}}]
          http_filters:
          - name: router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
`

func TestEnvoysRunSideBySide(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := strconv.Itoa(env.FreePort(t))
			envoy := env.StartEnvoy(t, []byte(strings.Replace(helloBootstrap, "PORT", port, 1)))
			envoy.WaitReady(t)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			res, err := new(http.Client).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || string(body) != "hello" {
				t.Errorf("Envoy answers %q, %v", body, err)
			}
			if dump := envoy.Get(t, "/config_dump"); !strings.Contains(string(dump), port) {
				t.Error("the configuration dump does not name the listener's port")
			}
		})
	}
}
