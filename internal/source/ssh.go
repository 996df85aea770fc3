package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// sshSession runs git-upload-pack on one connection. The library's own cannot be told to give a handshake up.
type sshSession struct {
	conn   net.Conn
	client *ssh.Client
	run    *ssh.Session
	stdin  io.WriteCloser
	stdout io.Reader
	stderr *said
}

// openSSH connects, checks the host's key, logs in and starts git-upload-pack, until ctx ends.
func openSSH(ctx context.Context, loc location, auth Auth) (_ session, err error) {
	addr := net.JoinHostPort(loc.url.Hostname(), "22")
	if loc.url.Port() != "" {
		addr = loc.url.Host
	}
	config, closeAgent, err := sshConfig(ctx, addr, auth)
	if err != nil {
		return nil, err
	}
	defer closeAgent()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	s := &sshSession{conn: conn, stderr: &said{}}
	defer func() {
		if err != nil {
			err = s.explain(ctx, err)
			_ = s.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c, chans, reqs, err := ssh.NewClientConn(conn, addr, config)
	if err != nil {
		return nil, hostKeyError(err, addr)
	}
	s.client = ssh.NewClient(c, chans, reqs)
	return s, s.start(loc.sshPath)
}

func (s *sshSession) start(path string) (err error) {
	if s.run, err = s.client.NewSession(); err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	if s.stdin, err = s.run.StdinPipe(); err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	if s.stdout, err = s.run.StdoutPipe(); err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	s.run.Stderr = s.stderr
	// Quoted as sq_quote_buf of git does it, for shells that expand history too.
	quoted := "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
	if err := s.run.Start(transport.UploadPackServiceName + " " + quoted); err != nil {
		return fmt.Errorf("run %s: %w", transport.UploadPackServiceName, err)
	}
	return nil
}

func (s *sshSession) refs(ctx context.Context) (_ *packp.AdvRefs, err error) {
	defer context.AfterFunc(ctx, func() { _ = s.conn.Close() })()
	adv := packp.NewAdvRefs()
	err = adv.Decode(&limited{r: s.stdout, n: maxRefs, err: errors.New("the list of refs is too large")})
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && adv.IsEmpty():
		return nil, transport.ErrEmptyRemoteRepository
	case err != nil:
		return nil, s.explain(ctx, err)
	}
	transport.FilterUnsupportedCapabilities(adv.Capabilities)
	return adv, nil
}

func (s *sshSession) pack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	var buf bytes.Buffer
	if err := errors.Join(req.Validate(), req.UploadRequest.Encode(&buf), req.UploadHaves.Encode(&buf, false)); err != nil {
		return nil, err
	}
	buf.WriteString("0009done\n")
	if _, err := s.stdin.Write(buf.Bytes()); err != nil {
		return nil, s.explain(ctx, err)
	}
	body := struct {
		io.Reader
		io.Closer
	}{&limited{r: s.stdout, n: maxPack, err: errors.New("the pack is too large")}, closer(func() error {
		stop()
		return nil
	})}
	res := packp.NewUploadPackResponse(req)
	if err := res.Decode(body); err != nil {
		return nil, s.explain(ctx, err)
	}
	return res, nil
}

// Close ends the conversation; what the server says to that is of no interest.
func (s *sshSession) Close() error {
	if s.client != nil {
		_ = s.client.Close()
	}
	_ = s.conn.Close()
	return nil
}

// explain prefers what the server wrote to what that did to the protocol.
func (s *sshSession) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no answer in time: %w", ctx.Err())
	}
	if s.run != nil && errors.Is(err, packp.ErrEmptyInput) {
		_ = s.run.Wait() // stderr is complete when the command has ended
	}
	if text := s.stderr.String(); text != "" {
		return fmt.Errorf("the server says: %s", text)
	}
	return err
}

// sshConfig returns how to log in, and what closes the connection to the agent afterwards.
func sshConfig(ctx context.Context, addr string, auth Auth) (*ssh.ClientConfig, func(), error) {
	db, files, err := knownHosts(auth.KnownHostsFile)
	if err != nil {
		return nil, nil, err
	}
	config := &ssh.ClientConfig{
		User:            auth.Username,
		HostKeyCallback: db.HostKeyCallback(),
		// Asked for by type, else a server with several keys may show one that is not in the file.
		HostKeyAlgorithms: db.HostKeyAlgorithms(addr),
	}
	if len(config.HostKeyAlgorithms) == 0 {
		return nil, nil, unknownHost(addr, strings.Join(files, " or "))
	}
	switch {
	case auth.SSHKeyFile != "":
		signer, err := readKey(auth.SSHKeyFile, auth.SSHKeyPassphrase)
		if err != nil {
			return nil, nil, err
		}
		config.Auth = append(config.Auth, ssh.PublicKeys(signer))
	case auth.Password != "":
		config.Auth = append(config.Auth, ssh.Password(auth.Password))
	case os.Getenv("SSH_AUTH_SOCK") != "":
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", os.Getenv("SSH_AUTH_SOCK"))
		if err != nil {
			return nil, nil, fmt.Errorf("ask the ssh agent at SSH_AUTH_SOCK: %w", err)
		}
		config.Auth = append(config.Auth, ssh.PublicKeysCallback(agent.NewClient(conn).Signers))
		return config, func() { _ = conn.Close() }, nil
	default:
		return nil, nil, errors.New("no way to log in: name an ssh key file, or run an ssh agent")
	}
	return config, func() {}, nil
}

func readKey(file, passphrase string) (ssh.Signer, error) {
	pem, err := os.ReadFile(file) //nolint:gosec // the operator names the key
	if err != nil {
		return nil, fmt.Errorf("read the ssh key: %w", err)
	}
	var signer ssh.Signer
	if passphrase == "" {
		signer, err = ssh.ParsePrivateKey(pem)
	} else {
		signer, err = ssh.ParsePrivateKeyWithPassphrase(pem, []byte(passphrase))
	}
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		return nil, fmt.Errorf("ssh key %s is encrypted: give its passphrase", file)
	case err != nil: // the parser's own text may quote the file
		return nil, fmt.Errorf("ssh key %s: no private key in PEM or OpenSSH's format, or the passphrase is wrong", file)
	}
	return signer, nil
}

func knownHosts(file string) (*knownhosts.HostKeyDB, []string, error) {
	files := []string{file}
	if file == "" {
		files = []string{"/etc/ssh/ssh_known_hosts"}
		if home, err := os.UserHomeDir(); err == nil {
			files = append([]string{filepath.Join(home, ".ssh", "known_hosts")}, files...)
		}
	}
	var there []string
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			there = append(there, f)
		}
	}
	if len(there) == 0 {
		return nil, nil, fmt.Errorf("no known_hosts file at %s: write one with ssh-keyscan, after checking the keys",
			strings.Join(files, " or "))
	}
	db, err := knownhosts.NewDB(there...)
	if err != nil {
		return nil, nil, fmt.Errorf("read known_hosts: %w", err)
	}
	return db, there, nil
}

func unknownHost(addr, files string) error {
	return fmt.Errorf("the host key of %s is not in %s: check it with the server's owner, then add it (ssh-keyscan)",
		knownhosts.Normalize(addr), files)
}

func hostKeyError(err error, addr string) error {
	switch {
	case knownhosts.IsHostKeyChanged(err):
		return fmt.Errorf("the host key of %s is not the one in known_hosts: someone may be in between; if the server really "+
			"changed its key, replace it there", knownhosts.Normalize(addr))
	case knownhosts.IsHostUnknown(err):
		return unknownHost(addr, "known_hosts")
	}
	return fmt.Errorf("log in: %w", err)
}

// said keeps the beginning of what a server writes to stderr.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := maxRefusal - s.buf.Len(); room > 0 {
		s.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.buf.String())
}

type closer func() error

func (c closer) Close() error { return c() }
