package xds_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
	"github.com/tidelock/tidelock/test/env"
)

func TestRealEnvoyGetsItsKeysOverWhatIsConfidential(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	files := newKeyFiles(t, ca.issue(t, daemonName, "127.0.0.1"), ca)
	proxy := ca.issue(t, "edge")
	dir := filepath.Dir(files.CertFile)
	onProxy := xds.BootstrapTLS{
		CAFile: files.ClientCAFile, CertFile: filepath.Join(dir, "proxy.crt"), KeyFile: filepath.Join(dir, "proxy.key"),
	}
	files.write(onProxy.CertFile, proxy.Certificate)
	files.write(onProxy.KeyFile, proxy.Key)
	named := onProxy
	named.ServerName = daemonName

	for name, tc := range map[string]struct {
		address string
		server  *xds.ServerTLS
		proxy   *xds.BootstrapTLS
	}{
		"mutual TLS":               {address: "127.0.0.1:0", server: &files.ServerTLS, proxy: &onProxy},
		"mutual TLS over a socket": {address: "unix:" + socketPath(t), server: &files.ServerTLS, proxy: &named},
		"a socket without any TLS": {address: "unix:" + socketPath(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := env.FreePort(t)
			r := routeTo("shop.test", "blue")
			r.Listener = desired.Listener{Name: "https", Address: "127.0.0.1", Port: uint32(port), TLSSecret: shop("cert")}
			world := worldOf(map[string][]xds.Endpoint{"blue": backend(t, "blue")})
			world.Secrets[shop("cert")] = ca.issue(t, "shop.test")
			f := startFleetOver(t, mustBuild(t, xds.Input{Group: "edge", Desired: []desired.Route{r}, World: world}),
				tc.address, tc.server, tc.proxy)
			f.until("settled", settled)
			eventually(t, "an answer over HTTPS", func() error { return askHTTPS(t, ca, port) })
		})
	}
}

// askHTTPS asks shop.test at a port, which must answer as "blue" with a certificate of ca.
func askHTTPS(t *testing.T, ca *authority, port int) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "shop.test"}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", port), http.NoBody)
	if err != nil {
		return err
	}
	req.Host = "shop.test"
	res, err := (&http.Client{Timeout: patience, Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && string(body) != "blue" {
		err = fmt.Errorf("%s: %q", res.Status, body)
	}
	return err
}
