// Package pki makes the certificates of a control plane: a folder goes in, PEM files in it come out.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The holders of a key.
const (
	CA                = "ca"
	APIServer         = "apiserver"
	Admin             = "admin"
	ControllerManager = "controller-manager"
	Scheduler         = "scheduler"
	Kubelet           = "kubelet"
	Proxy             = "proxy"
	ServiceAccounts   = "service-accounts" // signs tokens; has a key and no certificate
)

// NodeName is the name of the one node: a kubelet has the rights of its node alone.
const NodeName = "node"

// ServerName is a name that the API server's certificate has wherever it listens.
const ServerName = "kubernetes"

const lifetime = 5 * 365 * 24 * time.Hour

// PKI is a folder with a key and a certificate for each holder.
type PKI struct {
	dir string
}

// Cert returns the path of a holder's certificate.
func (p PKI) Cert(holder string) string { return filepath.Join(p.dir, holder+".crt") }

// Key returns the path of a holder's private key.
func (p PKI) Key(holder string) string { return filepath.Join(p.dir, holder+".key") }

// Ensure returns the PKI in dir, which is made where it is not complete.
func Ensure(dir string) (PKI, error) {
	p := PKI{dir: dir}
	if p.complete() {
		return p, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return PKI{}, fmt.Errorf("make folder %s: %w", dir, err)
	}
	if err := p.create(); err != nil {
		return PKI{}, err
	}
	return p, nil
}

func (p PKI) complete() bool {
	files := []string{p.Key(ServiceAccounts)}
	for _, h := range holders() {
		files = append(files, p.Cert(h.file))
	}
	return !slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	})
}

// holder is one who gets a certificate; a server has addresses, a client the rights of its name and group.
type holder struct {
	file      string
	user      string
	groups    []string
	dns       []string
	addresses []net.IP
}

func holders() []holder {
	return []holder{
		{
			file:      APIServer,
			user:      "kube-apiserver",
			dns:       []string{"localhost", ServerName, "kubernetes.default", "kubernetes.default.svc"},
			addresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
		},
		{file: Admin, user: "admin", groups: []string{"system:masters"}},
		{file: ControllerManager, user: "system:kube-controller-manager"},
		{file: Scheduler, user: "system:kube-scheduler"},
		{file: Kubelet, user: "system:node:" + NodeName, groups: []string{"system:nodes"}},
		{file: Proxy, user: "system:kube-proxy"},
	}
}

func (p PKI) create() error {
	ca := template(pkix.Name{CommonName: "localcluster"})
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	caKey, err := p.writeKey(CA)
	if err != nil {
		return err
	}
	if err := p.writeCert(CA, ca, ca, caKey, caKey); err != nil {
		return err
	}
	for _, h := range holders() {
		key, err := p.writeKey(h.file)
		if err != nil {
			return err
		}
		cert := template(pkix.Name{CommonName: h.user, Organization: h.groups})
		cert.KeyUsage = x509.KeyUsageDigitalSignature
		cert.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
		cert.DNSNames, cert.IPAddresses = h.dns, h.addresses
		if err := p.writeCert(h.file, cert, ca, key, caKey); err != nil {
			return err
		}
	}
	_, err = p.writeKey(ServiceAccounts)
	return err
}

func template(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: now.Add(-time.Hour), // clocks differ
		NotAfter:  now.Add(lifetime),
	}
}

func (p PKI) writeKey(holder string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", holder, err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of %s: %w", holder, err)
	}
	return key, write(p.Key(holder), "EC PRIVATE KEY", der, 0o600)
}

func (p PKI) writeCert(holder string, cert, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey)
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", holder, err)
	}
	return write(p.Cert(holder), "CERTIFICATE", der, 0o644)
}

func write(path, kind string, der []byte, mode fs.FileMode) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(path, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
