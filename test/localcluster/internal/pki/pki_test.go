package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"
)

func TestCertificatesAreSignedByTheCAForTheirUse(t *testing.T) {
	t.Parallel()
	p, err := Ensure(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(p.Cert(CA))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the CA is no certificate")
	}
	for _, tc := range []struct {
		holder, user, group, host string
		use                       x509.ExtKeyUsage
	}{
		{holder: APIServer, user: "kube-apiserver", host: "127.0.0.1", use: x509.ExtKeyUsageServerAuth},
		{holder: Admin, user: "admin", group: "system:masters", use: x509.ExtKeyUsageClientAuth},
		{holder: ControllerManager, user: "system:kube-controller-manager", use: x509.ExtKeyUsageClientAuth},
		{holder: Scheduler, user: "system:kube-scheduler", use: x509.ExtKeyUsageClientAuth},
		{holder: Kubelet, user: "system:node:node", group: "system:nodes", use: x509.ExtKeyUsageClientAuth},
		{holder: Proxy, user: "system:kube-proxy", use: x509.ExtKeyUsageClientAuth},
	} {
		pair, err := tls.LoadX509KeyPair(p.Cert(tc.holder), p.Key(tc.holder))
		if err != nil {
			t.Errorf("%s: %v", tc.holder, err)
			continue
		}
		cert := pair.Leaf
		opts := x509.VerifyOptions{Roots: roots, DNSName: tc.host, KeyUsages: []x509.ExtKeyUsage{tc.use}}
		if _, err := cert.Verify(opts); err != nil {
			t.Errorf("%s: %v", tc.holder, err)
		}
		if cert.Subject.CommonName != tc.user {
			t.Errorf("%s is user %s, want %s", tc.holder, cert.Subject.CommonName, tc.user)
		}
		if tc.group != "" && (len(cert.Subject.Organization) != 1 || cert.Subject.Organization[0] != tc.group) {
			t.Errorf("%s is in groups %v, want %s", tc.holder, cert.Subject.Organization, tc.group)
		}
	}
}

func TestCompletePKIIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := Ensure(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(p.Cert(CA))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(dir); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(p.Cert(CA))
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("the CA was made anew: kubeconfigs handed out before no longer work")
	}
}
