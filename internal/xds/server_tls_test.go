package xds_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/tidelock/tidelock/internal/xds"
)

const daemonName = "tidelock.test"

// keyFiles are the files of a daemon with TLS, which a test may write anew.
type keyFiles struct {
	xds.ServerTLS

	t *testing.T
}

func newKeyFiles(t *testing.T, server xds.Secret, clients *authority) keyFiles {
	t.Helper()
	dir := t.TempDir()
	f := keyFiles{t: t, ServerTLS: xds.ServerTLS{
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), ClientCAFile: filepath.Join(dir, "ca.crt"),
	}}
	f.write(f.CertFile, server.Certificate)
	f.write(f.KeyFile, server.Key)
	f.write(f.ClientCAFile, clients.pem)
	return f
}

func (f keyFiles) write(name string, content []byte) {
	f.t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// clientConfig trusts roots and shows the certificate of s, if it has one.
func clientConfig(t *testing.T, roots *authority, s xds.Secret) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: daemonName, NextProtos: []string{"h2"}}
	config.RootCAs.AddCert(roots.cert)
	if len(s.Certificate) > 0 {
		pair, err := tls.X509KeyPair(s.Certificate, s.Key)
		if err != nil {
			t.Fatal(err)
		}
		// Whatever CAs the server names: it is the server that must refuse.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config
}

// streamEnd is how a stream ends that asks for a private key of a group; OK if it is answered with one.
func streamEnd(t *testing.T, p *plane, creds credentials.TransportCredentials, group string) *status.Status {
	t.Helper()
	conn := p.dial(t, creds)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return status.Convert(err)
	}
	_ = stream.Send(&discoveryv3.DiscoveryRequest{
		Node: &corev3.Node{Id: "edge-1", Cluster: group}, TypeUrl: xds.TypeSecret, ResourceNames: []string{"shop/tls"},
	})
	resp, err := stream.Recv()
	if err == nil {
		wantNames(t, resp, "shop/tls")
	}
	return status.Convert(err)
}

func TestACertificateIsServedItsGroupAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		change func(*x509.Certificate)
		group  string // "edge" unless set
		want   codes.Code
	}{
		"DNS name":        {reason: "the rule", change: namedFor("edge"), want: codes.OK},
		"one of several":  {reason: "one certificate for two groups", change: namedFor("canary", "edge"), want: codes.OK},
		"common name":     {reason: "certificates made by hand", change: func(c *x509.Certificate) { c.Subject.CommonName = "edge" }, want: codes.OK},
		"another group":   {reason: "it would get keys of others", change: namedFor("canary"), want: codes.PermissionDenied},
		"another case":    {reason: "groups differ by case", change: namedFor("Edge"), want: codes.PermissionDenied},
		"wildcard":        {reason: "a group is no host", change: namedFor("*"), want: codes.PermissionDenied},
		"no name":         {reason: "it is for nobody", change: namedFor(), want: codes.PermissionDenied},
		"group not named": {reason: "a node without a cluster", change: namedFor(), group: "-", want: codes.PermissionDenied},
		"common name beside a DNS name": {
			reason: "a CA vouches for the names of the extension", want: codes.PermissionDenied,
			change: func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "edge", []string{"canary"} },
		},
		"common name beside a URI": {
			reason: "with SPIFFE the common name is anyone's", want: codes.PermissionDenied,
			change: func(c *x509.Certificate) {
				c.Subject.CommonName, c.URIs = "edge", []*url.URL{{Scheme: "spiffe", Host: "test", Path: "/edge"}}
			},
		},
		"expired": {
			reason: "it has had its time", want: codes.Unavailable,
			change: func(c *x509.Certificate) { c.DNSNames, c.NotAfter = []string{"edge"}, time.Now().Add(-time.Minute) },
		},
		"of a server": {
			reason: "a web server's certificate of the same CA is no proxy's", want: codes.Unavailable,
			change: func(c *x509.Certificate) {
				c.DNSNames, c.ExtKeyUsage = []string{"edge"}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ca := newAuthority(t)
				files := newKeyFiles(t, ca.issue(t, daemonName), ca)
				p, _ := servePlaneOf(t, xds.Config{TLS: &files.ServerTLS})
				p.sync(withKey(t))
				template := certificate("")
				tc.change(template)
				group := "edge"
				if tc.group == "-" {
					group = ""
				}
				creds := credentials.NewTLS(clientConfig(t, ca, ca.sign(t, template)))
				got := streamEnd(t, p, creds, group)
				if got.Code() != tc.want {
					t.Errorf("%v, want %v: %s", got, tc.want, tc.reason)
				}
				if tc.want == codes.PermissionDenied {
					wantRefusalOf(t, p, got, group)
				}
			})
		})
	}
}

// namedFor has a certificate be for DNS names.
func namedFor(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.DNSNames = names }
}

// wantRefusalOf checks that a refusal says what is wrong and no more, and leaves nothing behind.
func wantRefusalOf(t *testing.T, p *plane, got *status.Status, group string) {
	t.Helper()
	if msg := got.Message(); !strings.Contains(msg, `not for the group "`+group+`"`) || strings.Contains(msg, "canary") {
		t.Errorf("the proxy is told %q", msg)
	}
	if proxies, groups := p.Proxies(), p.Groups(); len(proxies) > 0 || !slices.Equal(groups, []string{"edge"}) {
		t.Errorf("who was refused is among the proxies %v or the groups %v", proxies, groups)
	}
}

func TestNobodyIsServedWithoutACertificateOfTheCA(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	server := ca.issue(t, daemonName)
	old := clientConfig(t, ca, ca.issue(t, "edge"))
	old.MaxVersion = tls.VersionTLS11
	for name, creds := range map[string]credentials.TransportCredentials{
		"plain text":     insecure.NewCredentials(),
		"no certificate": credentials.NewTLS(clientConfig(t, ca, xds.Secret{})),
		"other CA":       credentials.NewTLS(clientConfig(t, ca, other.issue(t, "edge"))),
		"TLS 1.1":        credentials.NewTLS(old),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := newKeyFiles(t, server, ca)
			p, _ := servePlaneOf(t, xds.Config{TLS: &files.ServerTLS})
			p.sync(withKey(t))
			if got := streamEnd(t, p, creds, "edge"); got.Code() != codes.Unavailable {
				t.Errorf("%v, want no connection", got)
			}
		})
	}
}

// serial returns the number of the certificate that a new connection is shown.
func serial(t *testing.T, p *plane, config *tls.Config) *big.Int {
	t.Helper()
	raw, err := p.lis.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(raw, config)
	defer conn.Close()
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol != "h2" || state.Version != tls.VersionTLS13 {
		t.Errorf("negotiated %q over TLS %x", state.NegotiatedProtocol, state.Version)
	}
	return state.PeerCertificates[0].SerialNumber
}

func serialOf(t *testing.T, s xds.Secret) *big.Int {
	t.Helper()
	pair, err := tls.X509KeyPair(s.Certificate, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf.SerialNumber
}

func TestCertificatesChangeWithoutADroppedStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, nextCA := newAuthority(t), newAuthority(t)
		pass(time.Second) // serial numbers are made of the time
		first := ca.issue(t, daemonName)
		pass(time.Second)
		second := ca.issue(t, daemonName)
		files := newKeyFiles(t, first, ca)
		log := &syncBuffer{}
		p, _ := servePlaneOf(t, xds.Config{TLS: &files.ServerTLS, Logger: slog.New(slog.NewTextHandler(log, nil))})
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		config := clientConfig(t, ca, ca.issue(t, "edge"))
		wantShown := func(what string, want xds.Secret) {
			t.Helper()
			pass(2 * time.Second)
			if got := serial(t, p, config); got.Cmp(serialOf(t, want)) != 0 {
				t.Errorf("%s: a new connection is shown certificate %v, want %v", what, got, serialOf(t, want))
			}
		}
		c := p.connectAs(t, credentials.NewTLS(config), "edge", "edge-1")
		c.subscribe(xds.TypeCluster, "")
		wantNames(t, c.next(xds.TypeCluster), stable)
		wantShown("at first", first)

		files.write(files.CertFile, second.Certificate)
		wantShown("with the key to come", first)
		wantShown("with the key to come, again", first)
		if n := strings.Count(log.String(), "cannot be used"); n != 1 {
			t.Errorf("complained %d times, want once:\n%s", n, log)
		}
		files.write(files.KeyFile, second.Key)
		wantShown("with the key", second)

		both := append(slices.Clone(nextCA.pem), ca.pem...)
		files.write(files.ClientCAFile, both[:len(both)-40])
		wantShown("with a CA that is half written", second)
		if err := os.Remove(files.ClientCAFile); err != nil {
			t.Fatal(err)
		}
		wantShown("without a file of CAs", second)
		files.write(files.ClientCAFile, nextCA.pem)
		pass(2 * time.Second)
		if got := streamEnd(t, p, credentials.NewTLS(config), "edge"); got.Code() != codes.Unavailable {
			t.Errorf("a certificate of the CA that was taken away: %v", got)
		}
		config = clientConfig(t, ca, nextCA.issue(t, "edge"))
		wantShown("to a proxy of the next CA", second)

		p.sync(shopSplit(t, "c2", target("stable", 1), target("canary", 1)))
		wantNames(t, c.next(xds.TypeCluster), canary, stable)
		if strings.Contains(log.String(), string(second.Key)) || strings.Contains(log.String(), "PRIVATE") {
			t.Errorf("a key is in the log:\n%s", log)
		}
	})
}
