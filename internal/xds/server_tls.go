package xds

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

const (
	// lookAgain is how long the certificates that were read last serve new connections without a look at the files.
	lookAgain = time.Second
	// maxPEM bounds each file.
	maxPEM = 1 << 20
)

// ServerTLS names the PEM files of the xDS port. TLS is mutual or there is none, so all three are required.
//
// A client certificate is bound to its group: a stream whose node.cluster is none of the certificate's DNS names is refused
// with PermissionDenied. The common name counts only where the certificate has no subject alternative name at all (RFC 6125,
// section 6.4.4). Names are compared byte by byte, and there are no wildcards.
//
// The files are read again when they change. New connections are taken with the new ones, and those that stand go on. Files
// that do not fit together, or are half written, leave the ones before in use.
type ServerTLS struct {
	// CertFile is the certificate that proxies see, followed by its intermediates, and KeyFile its private key.
	CertFile, KeyFile string
	// ClientCAFile holds what a proxy's certificate must chain to.
	ClientCAFile string
}

// Validate reads the files and reports why they cannot be used. No error holds a byte of the key.
func (t ServerTLS) Validate() error {
	_, err := newKeyring(t, nil)
	return err
}

// keyring is the certificates of the port, as the files last had them whole.
type keyring struct {
	files ServerTLS
	log   *slog.Logger

	mu        sync.Mutex
	looked    time.Time
	digest    [sha256.Size]byte // of the files that config was made of
	config    *tls.Config
	complaint string // what was said last of files that cannot be used
}

func newKeyring(files ServerTLS, log *slog.Logger) (*keyring, error) {
	if files.CertFile == "" || files.KeyFile == "" || files.ClientCAFile == "" {
		return nil, errors.New("mutual TLS needs a certificate, its key and the CA of the clients")
	}
	read, err := files.read()
	if err != nil {
		return nil, err
	}
	config, err := read.config()
	if err != nil {
		return nil, err
	}
	return &keyring{files: files, log: log, looked: time.Now(), digest: read.digest(), config: config}, nil
}

// credentials takes each connection with the certificates of its time.
func (k *keyring) credentials() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			return k.current(hello.Context()), nil
		},
	})
}

func (k *keyring) current(ctx context.Context) *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.looked) >= lookAgain {
		k.looked = now
		k.look(ctx)
	}
	return k.config
}

// look takes over what the files hold now. Their content decides: a mounted Secret changes through a link, and a copy may
// keep its time. What is wrong with them is said once.
func (k *keyring) look(ctx context.Context) {
	read, err := k.files.read()
	if err == nil && read.digest() == k.digest {
		k.complaint = ""
		return
	}
	var config *tls.Config
	if err == nil {
		config, err = read.config()
	}
	if err != nil {
		if complaint := err.Error(); complaint != k.complaint {
			k.complaint = complaint
			k.log.WarnContext(ctx, "xds certificates cannot be used; those before stay", slog.String("error", complaint))
		}
		return
	}
	k.config, k.digest, k.complaint = config, read.digest(), ""
	k.log.InfoContext(ctx, "xds certificates changed", slog.Time("not_after", config.Certificates[0].Leaf.NotAfter))
}

// contents are the files of a ServerTLS as they were read.
type contents struct {
	ServerTLS

	cert, key, clientCA []byte
}

func (t ServerTLS) read() (contents, error) {
	cert, err1 := readPEM(t.CertFile)
	key, err2 := readPEM(t.KeyFile)
	clientCA, err3 := readPEM(t.ClientCAFile)
	return contents{t, cert, key, clientCA}, errors.Join(err1, err2, err3)
}

func readPEM(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("read a file of the xDS port: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPEM+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read a file of the xDS port: %w", err)
	}
	if len(b) > maxPEM {
		return nil, fmt.Errorf("read a file of the xDS port: %s has over %d bytes", name, maxPEM)
	}
	return b, nil
}

func (c contents) digest() [sha256.Size]byte {
	h := sha256.New()
	for _, file := range [][]byte{c.cert, c.key, c.clientCA} {
		sum := sha256.Sum256(file)
		h.Write(sum[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// config is for the connections that come while the files have this content.
func (c contents) config() (*tls.Config, error) {
	if _, err := certificates(c.cert); err != nil {
		return nil, fmt.Errorf("certificate of the xDS port: %s: %w", c.CertFile, err)
	}
	pair, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the xDS port: %s and %s: %w", c.CertFile, c.KeyFile, err)
	}
	trusted, err := certificates(c.clientCA)
	if err != nil {
		return nil, fmt.Errorf("client CA of the xDS port: %s: %w", c.ClientCAFile, err)
	}
	pool := x509.NewCertPool()
	for _, ca := range trusted {
		pool.AddCert(ca)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2"},
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
		// A ticket would carry over a verdict of other CAs.
		SessionTicketsDisabled: true,
	}, nil
}

// certificates returns all that stand in a PEM file. The standard library passes over what it cannot read; here that is an
// error, so that a file which is being written is not taken for a short one.
func certificates(file []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	blocks := 0
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		blocks++
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(out)+1, err)
		}
		out = append(out, cert)
	}
	switch {
	case blocks != bytes.Count(file, []byte("-----BEGIN ")):
		return nil, errors.New("a PEM block is cut off or malformed")
	case len(out) == 0:
		return nil, errors.New("no PEM certificate in it")
	default:
		return out, nil
	}
}
