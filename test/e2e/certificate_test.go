//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// secured is a listener that waits for a certificate, and the Job that obtains it with what the Job needs, in one commit: the
// order of the files is that of their names, and means nothing.
func secured(ns string, port, serial int) files {
	replace := strings.NewReplacer("NAMESPACE", ns, "HOST", whoHost, "PORT", fmt.Sprint(port), "SERIAL", fmt.Sprint(serial))
	return files{
		"a-route.yaml": replace.Replace(`apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: secure, namespace: NAMESPACE}
spec:
  listener: {name: https, address: 127.0.0.1, port: PORT, tls: {secretName: shop-tls}}
  hosts: [HOST]
  rules:
  - directResponse: {status: 200, body: secure}
`),
		"b-job.yaml": replace.Replace(`apiVersion: batch/v1
kind: Job
metadata: {name: obtain, namespace: NAMESPACE}
spec:
  template:
    spec:
      serviceAccountName: obtain
      restartPolicy: OnFailure
      containers:
      - {name: issuer, image: issuer, imagePullPolicy: IfNotPresent, args: [HOST, shop-tls, "SERIAL"]}
`),
		"c-rights.yaml": replace.Replace(`apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: obtain, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: obtain}
subjects: [{kind: ServiceAccount, name: obtain}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: obtain, namespace: NAMESPACE}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [create, patch]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: obtain, namespace: NAMESPACE}
`),
	}
}

// A Job obtains a certificate, and the listener that names it serves it once it is there. The Job runs once for each content:
// deleted by hand it stays away, changed it runs and renews the certificate, which no open connection notices.
func TestListenerServesTheCertificateThatAJobObtains(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	node.Image(t, "issuer", buildIssuer(t))
	r := env.NewRepo(t)
	d := daemonOn(t, node.ControlPlane, node.Namespace(t), r.Bare)
	port := env.FreePort(t)
	address := net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
	commit := r.Push(t, secured(d.namespace, port, 1))
	d.start(t)
	proxy := d.envoy(t)
	d.servesCertificate(t, address, 1)
	d.settled(t, commit)
	open := dialSecure(t, address)
	open.ask(t)

	job := batchv1.Job{}
	key := client.ObjectKey{Namespace: d.namespace, Name: "obtain"}
	d.Eventually(t, "the Job to be complete", func(ctx context.Context) error {
		err := d.client.Get(ctx, key, &job)
		if err == nil && job.Status.CompletionTime == nil {
			err = fmt.Errorf("its status is %+v", job.Status)
		}
		return err
	})
	d.settled(t, r.Push(t, files{"seen.yaml": configMap(d.namespace, "seen", "1")}))
	if err := d.client.Delete(t.Context(), &job, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	d.settled(t, r.Push(t, files{"seen.yaml": configMap(d.namespace, "seen", "2")}))
	if err := d.client.Get(t.Context(), key, &batchv1.Job{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the Job that was deleted by hand is there again, or %v", err)
	}
	open.ask(t)

	d.settled(t, r.Push(t, secured(d.namespace, port, 2)))
	d.servesCertificate(t, address, 2)
	open.ask(t)
	if serial := open.conn.ConnectionState().PeerCertificates[0].SerialNumber; serial.Int64() != 1 {
		t.Errorf("the connection that was open has certificate %s: it is not the one of before", serial)
	}
	if stats := string(proxy.Get(t, "/stats?filter=listener_manager.total_listeners_draining")); !strings.HasSuffix(stats, ": 0\n") {
		t.Errorf("the listener was replaced: %s", stats)
	}
	var secret corev1.Secret
	if err := d.client.Get(t.Context(), client.ObjectKey{Namespace: d.namespace, Name: "shop-tls"}, &secret); err != nil {
		t.Fatal(err)
	}
	for line := range strings.FieldsSeq(string(secret.Data[corev1.TLSPrivateKeyKey])) {
		if len(line) > 20 && strings.Contains(d.Log.String(), line) {
			t.Error("the private key is in the daemon's log")
		}
	}
}

// servesCertificate waits until new connections get the certificate of a serial number.
func (d *daemon) servesCertificate(t *testing.T, address string, serial int64) {
	t.Helper()
	d.Eventually(t, fmt.Sprintf("certificate %d", serial), func(ctx context.Context) error {
		conn, err := (&tls.Dialer{Config: trusting()}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		secure, ok := conn.(*tls.Conn)
		if !ok {
			return errors.New("no TLS")
		}
		got := secure.ConnectionState().PeerCertificates[0].SerialNumber
		if got.Int64() != serial {
			err = fmt.Errorf("certificate %s is served", got)
		}
		return errors.Join(err, conn.Close())
	})
}

// trusting takes any certificate: the issuer signs its own.
func trusting() *tls.Config {
	return &tls.Config{ServerName: whoHost, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
}

// connection is one connection over which requests are made, one after the other.
type connection struct {
	conn   *tls.Conn
	reader *bufio.Reader
}

func dialSecure(t *testing.T, address string) *connection {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", address, trusting())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &connection{conn: conn, reader: bufio.NewReader(conn)}
}

// ask wants an answer over the same connection.
func (c *connection) ask(t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+whoHost+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(c.conn.SetDeadline(now().Add(patience)), req.Write(c.conn))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(c.reader, req)
	if err != nil {
		t.Fatalf("the open connection: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close(), c.conn.SetDeadline(time.Time{})); err != nil || string(body) != "secure" {
		t.Errorf("the open connection answers %s %q, %v", res.Status, body, err)
	}
}

// buildIssuer returns the path of the issuer as a static program.
func buildIssuer(t *testing.T) string {
	t.Helper()
	out := path(t.TempDir(), "issuer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", out, "github.com/tidelock/tidelock/test/e2e/issuer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the issuer: %v\n%s", err, said)
	}
	return out
}
