package xds_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typeddiscoveryv1 "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
	"github.com/tidelock/tidelock/test/env"
)

// watched is a namespace of a real API server, and a Watcher of it.
type watched struct {
	*xds.Watcher
	ns        string
	core      *typedcorev1.CoreV1Client
	discovery *typeddiscoveryv1.DiscoveryV1Client
	requests  *requestLog
}

// requestLog notes what a client asks of the API server.
type requestLog struct {
	n    atomic.Int64
	mu   sync.Mutex
	urls []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper { return logged{l, next} }

type logged struct {
	log  *requestLog
	next http.RoundTripper
}

func (l logged) RoundTrip(r *http.Request) (*http.Response, error) {
	l.log.n.Add(1)
	l.log.mu.Lock()
	l.log.urls = append(l.log.urls, r.URL.String())
	l.log.mu.Unlock()
	return l.next.RoundTrip(r)
}

func openShop(t *testing.T) *watched {
	t.Helper()
	plane := env.Cluster(t)
	s := &watched{ns: plane.Namespace(t), requests: &requestLog{}}
	var err error
	if s.core, err = typedcorev1.NewForConfig(plane.Config()); err != nil {
		t.Fatal(err)
	}
	if s.discovery, err = typeddiscoveryv1.NewForConfig(plane.Config()); err != nil {
		t.Fatal(err)
	}
	config := plane.Config()
	config.Wrap(s.requests.wrap)
	s.Watcher = watch(t, config)
	return s
}

func watch(t *testing.T, config *rest.Config) *xds.Watcher {
	t.Helper()
	w, err := xds.NewWatcher(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Errorf("the watcher ended: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return w
}

func (s *watched) port(service string, port uint32) xds.ServicePort {
	return xds.ServicePort{Key: s.key(service), Port: port}
}

func (s *watched) key(name string) desired.Key { return desired.Key{Namespace: s.ns, Name: name} }

// until waits for the World to be as wanted.
func (s *watched) until(t *testing.T, ok func(xds.World) bool) xds.World {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		if w := s.World(); ok(w) {
			return w
		}
		select {
		case <-s.Changed():
		case <-deadline.C:
			w := s.World()
			for k := range w.Secrets {
				w.Secrets[k] = xds.Secret{}
			}
			t.Fatalf("the world did not come to be as wanted: %+v", w)
		}
	}
}

func (s *watched) cart(t *testing.T, change ...func(*corev1.Service)) {
	t.Helper()
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "cart"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "web", Port: 80, TargetPort: intstr.FromInt32(8080)},
			{Name: "admin", Port: 81, TargetPort: intstr.FromInt32(9090)},
		}},
	}
	for _, c := range change {
		c(svc)
	}
	if _, err := s.core.Services(s.ns).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *watched) slice(t *testing.T, name, service string, endpoints ...discoveryv1.Endpoint) {
	t.Helper()
	family := discoveryv1.AddressTypeIPv4
	if len(endpoints) > 0 && strings.Contains(endpoints[0].Addresses[0], ":") {
		family = discoveryv1.AddressTypeIPv6
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: family,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("web"), Port: new(int32(8080))}, {Name: new("admin"), Port: new(int32(9090))},
		},
		Endpoints: endpoints,
	}
	if _, err := s.discovery.EndpointSlices(s.ns).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func pod(address string, ready *bool) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
}

func ready(w xds.World, p xds.ServicePort) []xds.Endpoint { return w.Services[p].Ready }

func synced(w xds.World) bool { return w.Synced }
