package xds

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/tidelock/tidelock/internal/desired"
)

// leastRSA is the size in bits that an RSA key must have for Envoy.
const leastRSA = 2048

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
	if wrong := wrongPair(corev1.TLSCertKey, corev1.TLSPrivateKeyKey, s.Certificate, s.Key); wrong != "" {
		return nil, "waits for Secret " + k.String() + ": " + wrong
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
	if _, err := certificates(s.CA); err != nil {
		return nil, "waits for whole PEM certificates in ca.crt of Secret " + k.String()
	}
	return &tlsv3.Secret{
		Name: caName(k),
		Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa: inlineBytes(s.CA),
		}},
	}, ""
}

// wrongPair says why Envoy would refuse a certificate or its key, which stand in fields of these names, and with it every
// Secret of the same answer; "" where it would not. A date that has passed is no reason.
func wrongPair(certificateField, keyField string, certificate, key []byte) string {
	pair, err := tls.X509KeyPair(certificate, key)
	chain, unread := certificates(certificate)
	switch {
	case err != nil && slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return isPair(c, key) }):
		return fmt.Sprintf("the certificate of %s is not the first of %s: the server's own goes first, then those that sign it",
			keyField, certificateField)
	case err != nil:
		return fmt.Sprintf("its %s and %s are no PEM pair of a certificate and its key", certificateField, keyField)
	case unread != nil:
		return "a certificate in " + certificateField + " is cut off or none"
	}
	switch public := pair.Leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if public.N.BitLen() < leastRSA {
			return fmt.Sprintf("its RSA key has %d bits, and Envoy takes none below %d", public.N.BitLen(), leastRSA)
		}
	case *ecdsa.PublicKey:
		if public.Curve == elliptic.P224() {
			return "its key is of the curve P-224, and Envoy takes P-256, P-384 and P-521"
		}
	}
	return ""
}

func isPair(c *x509.Certificate, key []byte) bool {
	_, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), key)
	return err == nil
}

func inlineBytes(b []byte) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
}
