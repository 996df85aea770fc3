// Command issuer stands in for the client of a certificate authority. It runs in a pod: it makes a self-signed certificate for
// a host and writes it, with its key, into a Secret of type kubernetes.io/tls in the pod's own namespace.
//
//	issuer HOST SECRET SERIAL
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "issuer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 { //nolint:mnd // as the usage says
		return errors.New("usage: issuer HOST SECRET SERIAL")
	}
	host, secret := args[0], args[1]
	serial, ok := new(big.Int).SetString(args[2], 10)
	if !ok {
		return fmt.Errorf("serial %q is no number", args[2])
	}
	data, err := issue(host, serial)
	if err != nil {
		return fmt.Errorf("issue a certificate for %s: %w", host, err)
	}
	namespace, err := os.ReadFile(namespaceFile)
	if err != nil {
		return fmt.Errorf("read the pod's namespace: %w", err)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	wanted := applycorev1.Secret(secret, string(namespace)).WithType(corev1.SecretTypeTLS).WithData(data)
	_, err = client.Secrets(string(namespace)).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "issuer", Force: true})
	if err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", namespace, secret, err)
	}
	return nil
}

// issue returns a certificate that is valid for an hour, as a Secret holds it.
func issue(host string, serial *big.Int) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}
