package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What is printed is enough for both sides of a handshake, and each side is for what it is for alone.
func TestCertificatesOfTheDaemonAndItsProxiesFitTogether(t *testing.T) {
	t.Parallel()
	now := time.Now()
	out, err := certificates("infra", []string{"tidelock", "tidelock.infra.svc"}, []string{"edge", "inner", "edge"}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	certificate := map[string]*x509.Certificate{}
	var roots [][]byte
	for i, document := range bytes.Split(out, []byte("---\n"))[1:] {
		var s corev1.Secret
		if err := yaml.UnmarshalStrict(document, &s); err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
		if err != nil || s.Namespace != "infra" || s.Type != corev1.SecretTypeTLS {
			t.Fatalf("Secret %d is %s %s/%s: %v", i, s.Type, s.Namespace, s.Name, err)
		}
		certificate[s.Name] = pair.Leaf
		roots = append(roots, s.Data["ca.crt"])
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots[0])
	verify := func(secret, name string, usage x509.ExtKeyUsage, at time.Time) bool {
		_, err := certificate[secret].Verify(x509.VerifyOptions{
			Roots: pool, DNSName: name, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage},
		})
		return err == nil
	}
	for name, tt := range map[string]struct {
		secret, host string
		usage        x509.ExtKeyUsage
		after        time.Duration
		want         bool
	}{
		"the daemon by its Service":          {"tidelock-xds", "tidelock.infra.svc", x509.ExtKeyUsageServerAuth, 0, true},
		"a proxy of its group":               {"tidelock-xds-edge", "edge", x509.ExtKeyUsageClientAuth, 0, true},
		"a proxy of another group":           {"tidelock-xds-inner", "edge", x509.ExtKeyUsageClientAuth, 0, false},
		"a proxy that plays the daemon":      {"tidelock-xds-edge", "edge", x509.ExtKeyUsageServerAuth, 0, false},
		"a machine whose clock is behind":    {"tidelock-xds-edge", "edge", x509.ExtKeyUsageClientAuth, -time.Minute, true},
		"a certificate that is out of date":  {"tidelock-xds-edge", "edge", x509.ExtKeyUsageClientAuth, 2 * time.Hour, false},
		"the daemon by a name it was denied": {"tidelock-xds", "other", x509.ExtKeyUsageServerAuth, 0, false},
	} {
		if got := verify(tt.secret, tt.host, tt.usage, now.Add(tt.after)); got != tt.want {
			t.Errorf("%s: good is %t, want %t", name, got, tt.want)
		}
	}
	if len(certificate) != 3 {
		t.Errorf("%d Secrets, want one for the daemon and one for each of two groups", len(certificate))
	}
}

// The bootstraps under deploy are what the command prints.
func TestBootstrapsOfDeployAreCurrent(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{
		"envoy": {},
		"mtls":  {"--tls-ca", "/xds/ca.crt", "--tls-cert", "/xds/tls.crt", "--tls-key", "/xds/tls.key"},
	} {
		var out bytes.Buffer
		args = append([]string{"xds", "bootstrap", "--group", "edge", "--xds-address", "tidelock:18000"}, args...)
		if err := Run(t.Context(), args, nil, &out, &out); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("../../deploy/" + file + "/envoy.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("deploy/%s/envoy.yaml is not what tidelock %v prints:\n%s", file, args, diff)
		}
	}
}
