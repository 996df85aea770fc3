package xds_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestTheWorldHoldsReadyEndpointsByServicePort(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	web, admin, missing := s.port("cart", 80), s.port("cart", 81), s.port("cart", 82)
	s.Want([]xds.ServicePort{web, admin, missing, s.port("ghost", 80)}, nil)
	if s.World().Synced {
		t.Error("the world is synced before it was looked at")
	}
	w := s.until(t, synced)
	if len(w.Services) != 0 {
		t.Errorf("services out of nothing: %v", w.Services)
	}

	s.cart(t)
	w = s.until(t, func(w xds.World) bool { _, found := w.Services[web]; return found })
	if _, found := w.Services[missing]; found || len(ready(w, web)) != 0 {
		t.Errorf("a Service without endpoints is %v", w.Services)
	}

	s.slice(t, "cart-a", "cart", pod("192.0.2.9", nil), pod("192.0.2.8", new(true)), pod("192.0.2.7", new(false)))
	s.slice(t, "cart-b", "cart", pod("192.0.2.8", new(true)), pod("192.0.2.10", new(true)))
	s.slice(t, "other", "another", pod("192.0.2.66", new(true)))
	want := []xds.Endpoint{{Address: "192.0.2.10", Port: 8080}, {Address: "192.0.2.8", Port: 8080}, {Address: "192.0.2.9", Port: 8080}}
	w = s.until(t, func(w xds.World) bool { return len(ready(w, web)) == 3 })
	if diff := cmp.Diff(want, ready(w, web)); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if got := ready(w, admin); len(got) != 3 || got[0].Port != 9090 {
		t.Errorf("the other port has %v", got)
	}

	if err := s.discovery.EndpointSlices(s.ns).Delete(t.Context(), "cart-a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, func(w xds.World) bool { return len(ready(w, web)) == 2 })
	if err := s.core.Services(s.ns).Delete(t.Context(), "cart", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, func(w xds.World) bool { return len(w.Services) == 0 })
}

func TestTheFirstFamilyOfADualStackServiceAnswers(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	web := s.port("cart", 80)
	s.cart(t, func(svc *corev1.Service) { svc.Spec.ClusterIP = corev1.ClusterIPNone })
	s.slice(t, "six", "cart", pod("2001:db8::1", nil))
	s.Want([]xds.ServicePort{web}, nil)
	w := s.until(t, func(w xds.World) bool { return len(ready(w, web)) == 1 })
	if got := ready(w, web)[0].Address; got != "2001:db8::1" {
		t.Errorf("alone, the other family answers with %s", got)
	}
	s.slice(t, "four", "cart", pod("192.0.2.9", nil))
	s.until(t, func(w xds.World) bool {
		return len(ready(w, web)) == 1 && ready(w, web)[0].Address == "192.0.2.9"
	})
}

func TestWhileNoPodIsReadyThoseThatStillServeAnswer(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	web := s.port("cart", 80)
	s.cart(t)
	s.Want([]xds.ServicePort{web}, nil)
	leaving := func(address string, serving bool) discoveryv1.Endpoint {
		e := pod(address, new(false))
		e.Conditions.Serving, e.Conditions.Terminating = &serving, new(true)
		return e
	}
	starting := pod("192.0.2.7", new(false))
	starting.Conditions.Serving, starting.Conditions.Terminating = new(true), new(false)
	s.slice(t, "cart-a", "cart", pod("192.0.2.6", new(true)), starting, leaving("192.0.2.8", true), leaving("192.0.2.9", false))
	w := s.until(t, func(w xds.World) bool { return len(w.Services[web].Leaving) > 0 })
	want := xds.EndpointSet{
		Ready:   []xds.Endpoint{{Address: "192.0.2.6", Port: 8080}},
		Leaving: []xds.Endpoint{{Address: "192.0.2.8", Port: 8080}},
	}
	if diff := cmp.Diff(want, w.Services[web]); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}

	route := routeTo("a.test", "cart")
	route.Backends[0].Upstream.Service, route.Backends[0].Upstream.Port = web.Key, web.Port
	for _, set := range []xds.EndpointSet{want, {Leaving: want.Leaving}} {
		w.Services = map[xds.ServicePort]xds.EndpointSet{web: set}
		alone := xds.World{Services: map[xds.ServicePort]xds.EndpointSet{web: {Ready: append(set.Ready, set.Leaving...)[:1]}}}
		got := mustBuild(t, xds.Input{Desired: []desired.Route{route}, World: w}).Resources[xds.TypeEndpoint]
		expected := mustBuild(t, xds.Input{Desired: []desired.Route{route}, World: alone}).Resources[xds.TypeEndpoint]
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("of %v Envoy gets (-want +got):\n%s", set, diff)
		}
	}
}

func TestSecretsAreWatchedOneByOneAndByName(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	k := s.key("tls")
	s.Want(nil, []desired.Key{k})
	s.until(t, synced)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "tls"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": []byte("c1"), "tls.key": []byte("k1"), "ca.crt": []byte("a1")},
	}
	created, err := s.core.Secrets(s.ns).Create(t.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := s.until(t, func(w xds.World) bool { return len(w.Secrets) == 1 })
	want := xds.Secret{Certificate: []byte("c1"), Key: []byte("k1"), CA: []byte("a1")}
	if diff := cmp.Diff(want, w.Secrets[k]); diff != "" {
		t.Errorf("secret (-want +got):\n%s", diff)
	}
	created.Data["tls.crt"] = []byte("c2")
	if _, err := s.core.Secrets(s.ns).Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(t, func(w xds.World) bool { return string(w.Secrets[k].Certificate) == "c2" })

	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	for _, url := range s.requests.urls {
		if strings.Contains(url, "secrets") && !strings.Contains(url, "fieldSelector=metadata.name%3Dtls") {
			t.Errorf("more than one Secret is asked for: %s", url)
		}
	}
}

func TestWhatIsNotWantedAnyMoreIsLetGo(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.cart(t)
	web := s.port("cart", 80)
	s.Want([]xds.ServicePort{web}, nil)
	before := s.until(t, func(w xds.World) bool { return w.Synced && len(w.Services) == 1 })
	s.Want(nil, nil)
	after := s.until(t, func(w xds.World) bool { return w.Synced && len(w.Services) == 0 })
	if before.Generation == after.Generation {
		t.Error("two worlds that differ have one generation")
	}
	s.Want([]xds.ServicePort{web}, nil)
	s.until(t, func(w xds.World) bool { return w.Synced && len(w.Services) == 1 })
}

func TestWithoutAChangeNothingIsAskedOfTheAPIServer(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.cart(t)
	s.slice(t, "cart-a", "cart", pod("192.0.2.9", nil))
	wanted := []xds.ServicePort{s.port("cart", 80)}
	s.Want(wanted, []desired.Key{s.key("tls")})
	w := s.until(t, func(w xds.World) bool { return w.Synced && len(ready(w, wanted[0])) == 1 })
	// The last of the watches may still be opening.
	idle(t)
	asked := s.requests.n.Load()
	for range 1000 {
		s.Want(wanted, []desired.Key{s.key("tls")})
		if got := s.World().Generation; got != w.Generation {
			t.Fatalf("generation %d became %d", w.Generation, got)
		}
	}
	idle(t)
	if n := s.requests.n.Load() - asked; n != 0 {
		t.Errorf("%d requests while nothing changed", n)
	}
	select {
	case <-s.Changed():
		t.Error("a change is reported")
	default:
	}
}

// idle lets a second pass, so that what would come by itself comes.
func idle(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

func TestLocalEndpointsStandInForAService(t *testing.T) {
	t.Parallel()
	cart, other := xds.ServicePort{Key: desired.Key{Namespace: "shop", Name: "cart"}, Port: 80},
		xds.ServicePort{Key: desired.Key{Namespace: "shop", Name: "other"}, Port: 80}
	w := xds.World{Services: map[xds.ServicePort]xds.EndpointSet{other: {Ready: one("192.0.2.1")}}}
	got := w.With(map[xds.ServicePort][]xds.Endpoint{cart: {{Address: "127.0.0.1", Port: 2}, {Address: "127.0.0.1", Port: 1}}})
	want := map[xds.ServicePort]xds.EndpointSet{
		other: {Ready: one("192.0.2.1")},
		cart:  {Ready: []xds.Endpoint{{Address: "127.0.0.1", Port: 1}, {Address: "127.0.0.1", Port: 2}}},
	}
	if diff := cmp.Diff(want, got.Services); diff != "" {
		t.Errorf("services (-want +got):\n%s", diff)
	}
	if len(w.Services) != 1 {
		t.Error("the world itself was changed")
	}
}
