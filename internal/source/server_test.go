package source_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// httpRemote serves a bare repository by git's own CGI program, and notes what it is asked.
type httpRemote struct {
	*httptest.Server
	user, password string

	mu       sync.Mutex
	requests []string
	bytes    int64
	down     bool
	cut      int64         // where positive, answers end after so many bytes
	hang     chan struct{} // where not nil, packs wait for it, and hung is told
	hung     chan struct{}
	stall    <-chan struct{} // where not nil, packs stop half way until it ends
}

func serveHTTP(tb testing.TB, f *fixture) *httpRemote {
	tb.Helper()
	path, err := exec.CommandContext(tb.Context(), "git", "--exec-path").Output()
	if err != nil {
		tb.Fatal(err)
	}
	r := &httpRemote{}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(f.origin), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, req.Method+" "+req.URL.Path)
		down, user, password, hang, hung, stall := r.down, r.user, r.password, r.hang, r.hung, r.stall
		r.mu.Unlock()
		if hang != nil && req.Method == http.MethodPost {
			if hung != nil {
				hung <- struct{}{}
			}
			select {
			case <-hang:
			case <-req.Context().Done():
			}
		}
		if stall != nil && req.Method == http.MethodPost {
			rec := httptest.NewRecorder()
			backend.ServeHTTP(rec, req)
			maps.Copy(w.Header(), rec.Header())
			_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-stall:
			case <-req.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}
		if down {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		if u, p, _ := req.BasicAuth(); user != "" && (u != user || p != password) {
			http.Error(w, "wrong login "+u+" "+p, http.StatusUnauthorized) // a server that tells what it should not
			return
		}
		c := &counter{ResponseWriter: w, remote: r}
		backend.ServeHTTP(c, req)
		if c.cut {
			panic(http.ErrAbortHandler)
		}
	}))
	tb.Cleanup(r.Close)
	return r
}

// repo is the URL of the repository.
func (r *httpRemote) repo() string { return r.URL + "/origin.git" }

func (r *httpRemote) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// asked returns the requests since the last call, and how many bytes were answered.
func (r *httpRemote) asked() ([]string, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	requests, n := r.requests, r.bytes
	r.requests, r.bytes = nil, 0
	return requests, n
}

type counter struct {
	http.ResponseWriter
	remote *httpRemote
	n      int64
	cut    bool
}

func (c *counter) Write(p []byte) (int, error) {
	c.remote.mu.Lock()
	defer c.remote.mu.Unlock()
	if limit := c.remote.cut; limit > 0 && c.n+int64(len(p)) > limit {
		c.cut = true
		p = p[:max(0, limit-c.n)]
	}
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	c.remote.bytes += int64(n)
	if c.cut {
		return n, io.ErrShortWrite
	}
	return n, err
}

// sshRemote is an ssh server that runs git-upload-pack for one key.
type sshRemote struct {
	addr       string
	hostKey    ssh.Signer
	authority  ssh.Signer // of a certificate that the host shows to who asks for one
	keyFile    string
	knownHosts string
}

func serveSSH(tb testing.TB) *sshRemote {
	tb.Helper()
	dir := tb.TempDir()
	r := &sshRemote{keyFile: filepath.Join(dir, "id"), knownHosts: filepath.Join(dir, "known_hosts")}
	r.hostKey, _ = newKey(tb, "")
	user, keyPEM := newKey(tb, "open sesame")
	if err := os.WriteFile(r.keyFile, keyPEM, 0o600); err != nil {
		tb.Fatal(err)
	}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(user.PublicKey().Marshal()) {
				return nil, ssh.ErrNoAuth
			}
			return &ssh.Permissions{}, nil
		},
	}
	config.AddHostKey(r.hostKey)
	r.authority, _ = newKey(tb, "")
	cert := &ssh.Certificate{
		Key: r.hostKey.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity,
	}
	if err := cert.SignCert(rand.Reader, r.authority); err != nil {
		tb.Fatal(err)
	}
	certified, err := ssh.NewCertSigner(cert, r.hostKey)
	if err != nil {
		tb.Fatal(err)
	}
	config.AddHostKey(certified)
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r.addr = l.Addr().String()
	writeFile(tb, r.knownHosts, knownhosts.Line([]string{r.addr}, r.hostKey.PublicKey())+"\n")
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serveConn(conn, config) })
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return r
}

func newKey(tb testing.TB, passphrase string) (ssh.Signer, []byte) {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func serveConn(conn net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		for req := range requests {
			if req.Type != "exec" {
				_ = req.Reply(false, nil)
				continue
			}
			_ = req.Reply(true, nil)
			var line struct{ Command string }
			_ = ssh.Unmarshal(req.Payload, &line)
			go func() {
				status := struct{ Code uint32 }{uint32(runShell(line.Command, channel))}
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(&status))
				_ = channel.Close()
			}()
		}
	}
}

func runShell(command string, channel ssh.Channel) int {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	go func() {
		_, _ = io.Copy(stdin, channel)
		_ = stdin.Close()
	}()
	if err := cmd.Run(); err != nil {
		return cmd.ProcessState.ExitCode()
	}
	return 0
}
