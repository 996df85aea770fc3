package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// daemonName is the daemon's Service, and the prefix of what holds its certificates, as deploy/ has them.
const daemonName = "tidelock"

func newCertificates() *cobra.Command {
	var namespace string
	var names, groups []string
	var validity time.Duration
	cmd := &cobra.Command{
		Use:   "certificates",
		Short: "Print Secrets for mutual TLS between the daemon and its proxies",
		Long: text(`
			Prints Secrets of type kubernetes.io/tls: tidelock-xds for the daemon, tidelock-xds-GROUP for the proxies of each
			group. They chain to an authority that is made here and whose key nobody keeps: to renew one, or to add a group, make
			them all again. The output holds private keys; nothing is written elsewhere.`),
		Example: text(`
			tidelock xds certificates --namespace tidelock --group edge | kubectl apply -f -`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCertificates(namespace, groups, validity); err != nil {
				return usageError{err}
			}
			if len(names) == 0 {
				names = []string{daemonName, daemonName + "." + namespace, daemonName + "." + namespace + ".svc"}
			}
			secrets, err := certificates(namespace, names, groups, time.Now(), validity)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(secrets)
			return err
		},
	}
	const year = 365 * 24 * time.Hour
	cmd.Flags().StringVarP(&namespace, "namespace", "n", daemonName, "namespace of the daemon and its proxies")
	cmd.Flags().StringSliceVar(&groups, "group", []string{"default"}, "groups of proxies (Envoy's node.cluster)")
	cmd.Flags().StringSliceVar(&names, "name", nil, "names by which proxies reach the daemon (default: those of its Service)")
	cmd.Flags().DurationVar(&validity, "validity", year, "how long they are valid")
	return cmd
}

func checkCertificates(namespace string, groups []string, validity time.Duration) error {
	if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
		return fmt.Errorf("--namespace %q: %s", namespace, wrong[0])
	}
	for _, g := range groups {
		if wrong := validation.IsDNS1123Subdomain(daemonName + "-xds-" + g); len(wrong) > 0 {
			return fmt.Errorf("--group %q cannot be part of a Secret's name: %s", g, wrong[0])
		}
	}
	if len(groups) == 0 {
		return errors.New("--group: want one at least")
	}
	if validity <= 0 {
		return fmt.Errorf("--validity %s: want more than nothing", validity)
	}
	return nil
}

// certificates returns the Secrets as YAML documents.
func certificates(namespace string, names, groups []string, from time.Time, validity time.Duration) ([]byte, error) {
	a, err := newAuthority(from, validity)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	add := func(name string, usage x509.ExtKeyUsage, dns ...string) error {
		s, err := a.issue(usage, dns)
		if err != nil {
			return fmt.Errorf("make the certificate of %s: %w", name, err)
		}
		s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		s.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
		document, err := yaml.Marshal(s)
		if err != nil {
			return fmt.Errorf("write Secret %s: %w", name, err)
		}
		out.WriteString("---\n")
		out.Write(document)
		return nil
	}
	err = add(daemonName+"-xds", x509.ExtKeyUsageServerAuth, names...)
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		err = errors.Join(err, add(daemonName+"-xds-"+g, x509.ExtKeyUsageClientAuth, g))
	}
	return out.Bytes(), err
}

// authority signs certificates that are valid as long as its own.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(from time.Time, validity time.Duration) (*authority, error) {
	const slack = 5 * time.Minute // clocks of other machines may be behind
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	a := &authority{key: key, cert: &x509.Certificate{
		Subject:   pkix.Name{CommonName: daemonName + " xDS"},
		NotBefore: from.Add(-slack), NotAfter: from.Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	a.pem = encodePEM("CERTIFICATE", der)
	return a, nil
}

// issue returns a certificate for DNS names with its key and the authority's own certificate, as a Secret of Kubernetes has
// them.
func (a *authority) issue(usage x509.ExtKeyUsage, dns []string) (*corev1.Secret, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject: pkix.Name{CommonName: dns[0]}, DNSNames: dns, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		corev1.TLSCertKey:              encodePEM("CERTIFICATE", der),
		corev1.TLSPrivateKeyKey:        encodePEM("PRIVATE KEY", private),
		corev1.ServiceAccountRootCAKey: a.pem,
	}}, nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
