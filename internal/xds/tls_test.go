package xds_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// authority signs certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	template := certificate("test authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// issue returns the Secret of a server.
func (a *authority) issue(t *testing.T, names ...string) xds.Secret {
	t.Helper()
	template := certificate(names[0])
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	return a.sign(t, template)
}

// sign returns a certificate made of the template, with a key of its own.
func (a *authority) sign(t *testing.T, template *x509.Certificate) xds.Secret {
	t.Helper()
	return a.signFor(t, template, newKey(t))
}

// signFor returns a certificate for a key.
func (a *authority) signFor(t *testing.T, template *x509.Certificate, key crypto.Signer) xds.Secret {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return xds.Secret{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		CA:          a.pem,
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// shortKey is one that Go takes and Envoy does not.
func shortKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2040)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
}

// echoTLS is a backend with a certificate.
func echoTLS(t *testing.T, name string, s xds.Secret) xds.Endpoint {
	t.Helper()
	pair, err := tls.X509KeyPair(s.Certificate, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(echoed{Backend: name, Path: r.RequestURI, Host: r.Host, Proto: r.Proto})
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return endpointOf(t, server.Listener.Addr().String())
}

func shop(name string) desired.Key { return desired.Key{Namespace: "shop", Name: name} }

func TestRealEnvoyWaitsForASecretOnOneListenerOnly(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t)
	world := worldOf(map[string][]xds.Endpoint{"web": {echo(t, "web", nil)}})
	plain, secure := routeTo("a.test", "web"), routeTo("a.test", "web")
	plain.Listener = desired.Listener{Name: "http", Address: "127.0.0.1"}
	secure.Listener = desired.Listener{Name: "https", Address: "127.0.0.1", TLSSecret: shop("cert")}
	in := xds.Input{Desired: []desired.Route{plain, secure}, World: world}

	waiting := mustBuild(t, in)
	note := []xds.Note{{Source: secure.Source, Text: "waits for Secret shop/cert"}}
	if diff := cmp.Diff(note, waiting.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	e.publish(t, waiting)
	if got := e.ask(t, e.address(t, "http"), "GET http://a.test/"); got.backend != "web" {
		t.Errorf("the plain listener answers %+v while the other waits for its Secret", got)
	}

	ca := newAuthority(t)
	for _, name := range []string{"first.test", "second.test"} {
		world.Secrets[shop("cert")] = ca.issue(t, name)
		snap := mustBuild(t, in)
		if len(snap.Notes) > 0 {
			t.Errorf("notes %v with the Secret there", snap.Notes)
		}
		if diff := cmp.Diff(waiting.Resources[xds.TypeListener], snap.Resources[xds.TypeListener]); diff != "" {
			t.Errorf("the Secret changes the listener (-before +after):\n%s", diff)
		}
		e.publish(t, snap)
		address := e.address(t, "https")
		eventually(t, "the certificate of "+name, func() error { return handshake(t, ca, address, name) })
	}
}

// handshake reports whether a server shows a certificate of ca for name.
func handshake(t *testing.T, ca *authority, address, name string) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: patience},
		Config:    &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}},
	}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if got := conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "h2" {
		return fmt.Errorf("negotiated %q, want h2", got)
	}
	return nil
}

func TestRealEnvoyVerifiesUpstreams(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t)
	ca, other := newAuthority(t), newAuthority(t)
	backend := echoTLS(t, "secure", ca.issue(t, "secure.shop.svc", "127.0.0.1"))
	world := worldOf(map[string][]xds.Endpoint{"secure": {backend}})
	world.Secrets[shop("ca")] = xds.Secret{CA: ca.pem}
	world.Secrets[shop("other")] = xds.Secret{CA: other.pem}

	over := func(host string, tls desired.TLS, protocol desired.Protocol) desired.Route {
		return routeTo(host, "secure", func(r *desired.Route) {
			r.Backends[0].Upstream.TLS, r.Backends[0].Upstream.Protocol = &tls, protocol
		})
	}
	address := func(host string, u desired.Upstream) desired.Route {
		return routeTo(host, "", func(r *desired.Route) { r.Backends = []desired.Backend{{Weight: 1, Upstream: u}} })
	}
	plain := echo(t, "plain", nil)
	routes := []desired.Route{
		over("derived.test", desired.TLS{CASecret: shop("ca")}, desired.HTTP1),
		over("named.test", desired.TLS{CASecret: shop("ca"), SNI: "secure.shop.svc"}, desired.HTTP2),
		over("misnamed.test", desired.TLS{CASecret: shop("ca"), SNI: "other.shop.svc"}, desired.HTTP1),
		over("other-ca.test", desired.TLS{CASecret: shop("other")}, desired.HTTP1),
		over("system.test", desired.TLS{}, desired.HTTP1),
		address("ip.test", desired.Upstream{
			Address: backend.Address, Port: backend.Port, TLS: &desired.TLS{CASecret: shop("ca")},
		}),
		address("strict.test", desired.Upstream{Address: "localhost", Port: plain.Port}),
		address("logical.test", desired.Upstream{
			Address: "localhost", Port: plain.Port, DNS: desired.DNS{Logical: true, Family: "V4"}, ConnectTimeout: time.Second,
		}),
		over("unready.test", desired.TLS{CASecret: shop("absent")}, desired.HTTP1),
	}
	for i := range routes {
		routes[i].Listener.Address, routes[i].Listener.Port = "127.0.0.1", 0
	}
	e.publish(t, mustBuild(t, xds.Input{Desired: routes, World: world}))
	at := e.address(t, desired.DefaultListener)
	for host, backend := range map[string]string{
		"derived.test": "secure", "named.test": "secure", "ip.test": "secure", "strict.test": "plain", "logical.test": "plain",
	} {
		eventually(t, host, func() error {
			if got := e.ask(t, at, "GET http://"+host+"/"); got.backend != backend {
				return fmt.Errorf("answers %+v, want from %s", got, backend)
			}
			return nil
		})
	}
	for _, host := range []string{"misnamed.test", "other-ca.test", "system.test", "unready.test"} {
		if got := e.ask(t, at, "GET http://"+host+"/"); got.status != http.StatusServiceUnavailable {
			t.Errorf("%s answers %+v, want 503: the upstream must be verified", host, got)
		}
	}
}

func TestASecretThatEnvoyWouldRefuseIsNotSent(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good, mixed := ca.issue(t, "a.test"), ca.issue(t, "a.test")
	mixed.Key = good.Key
	turned, cut := good, good
	turned.Certificate = slices.Concat(ca.pem, good.Certificate)
	cut.Certificate = slices.Concat(good.Certificate, ca.pem[:len(ca.pem)/2])
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		secret xds.Secret
		note   string
	}{
		"no certificate": {
			reason: "a kubernetes.io/tls Secret may be made empty and filled later",
			note:   "waits for tls.crt and tls.key in Secret shop/cert",
		},
		"a key of another certificate": {
			reason: "a NACK would hold up the certificates of all other listeners",
			secret: mixed,
			note:   "waits for Secret shop/cert: its tls.crt and tls.key are no PEM pair of a certificate and its key",
		},
		"a chain the wrong way round": {
			reason: "whoever made it must be told what to turn round",
			secret: turned,
			note: "waits for Secret shop/cert: the certificate of tls.key is not the first of tls.crt: the server's own goes " +
				"first, then those that sign it",
		},
		"a chain that is cut off": {
			reason: "the standard library reads over it, Envoy does not",
			secret: cut,
			note:   "waits for Secret shop/cert: a certificate in tls.crt is cut off or none",
		},
		"a curve that Envoy does not know": {
			reason: "the pair is one, and refused all the same",
			secret: ca.signFor(t, certificate("a.test"), p224),
			note:   "waits for Secret shop/cert: its key is of the curve P-224, and Envoy takes P-256, P-384 and P-521",
		},
		"a short key": {
			reason: "the pair is one, and refused all the same",
			secret: ca.signFor(t, certificate("a.test"), shortKey(t)),
			note:   "waits for Secret shop/cert: its RSA key has 2040 bits, and Envoy takes none below 2048",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := routeTo("a.test", "web")
			r.Listener.TLSSecret = shop("cert")
			world := worldOf(map[string][]xds.Endpoint{"web": nil})
			world.Secrets[shop("cert")] = tc.secret
			snap := mustBuild(t, xds.Input{Desired: []desired.Route{r}, World: world})
			if len(snap.Resources[xds.TypeSecret]) > 0 {
				t.Errorf("the Secret is sent; %s", tc.reason)
			}
			if !slices.Equal(snap.Notes, []xds.Note{{Source: r.Source, Text: tc.note}}) {
				t.Errorf("notes %v, want %q", snap.Notes, tc.note)
			}
		})
	}
}
