package xds

import (
	"crypto/tls"
	"crypto/x509"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/tidelock/tidelock/internal/desired"
)

// caName is the name of the Secret resource that holds the ca.crt of a Secret.
func caName(k desired.Key) string { return k.String() + "#ca" }

// buildCertificate returns the certificate of a listener, or why there is none to send. What Envoy would refuse is not
// sent: the listener keeps the certificate that it has. No reason holds a byte of the Secret.
func buildCertificate(k desired.Key, w World) (*tlsv3.Secret, string) {
	s, found := w.Secrets[k]
	if !found {
		return nil, "waits for Secret " + k.String()
	}
	if len(s.Certificate) == 0 || len(s.Key) == 0 {
		return nil, "waits for tls.crt and tls.key in Secret " + k.String()
	}
	if _, err := tls.X509KeyPair(s.Certificate, s.Key); err != nil {
		return nil, "waits for Secret " + k.String() + ": its tls.crt and tls.key are no PEM pair of a certificate and its key"
	}
	return &tlsv3.Secret{
		Name: k.String(),
		Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inlineBytes(s.Certificate),
			PrivateKey:       inlineBytes(s.Key),
		}},
	}, ""
}

// buildCA returns the roots that an upstream's certificate is verified by, or why there are none to send.
func buildCA(k desired.Key, w World) (*tlsv3.Secret, string) {
	s, found := w.Secrets[k]
	if !found {
		return nil, "waits for Secret " + k.String()
	}
	if !x509.NewCertPool().AppendCertsFromPEM(s.CA) {
		return nil, "waits for a PEM certificate in ca.crt of Secret " + k.String()
	}
	return &tlsv3.Secret{
		Name: caName(k),
		Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa: inlineBytes(s.CA),
		}},
	}, ""
}

func inlineBytes(b []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
}
