package source

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Config says what is followed, and how.
type Config struct {
	// Repository is a folder, a bare repository, or a file://, http://, https:// or ssh:// URL, or git@host:path.
	// Credentials in a URL are taken into Auth where that has none, and shown nowhere.
	Repository string
	// Ref is a branch, a tag, a full ref (refs/...) or a commit of 40 hex digits. Empty follows the remote's HEAD, or the
	// local one.
	Ref string
	// Name of the instance that Keep keeps commits for; "default" where empty.
	Name string
	// Interval between two polls of a remote, 30 s where zero. A local repository is watched, and looked at this often for
	// file systems that tell no changes.
	Interval time.Duration
	// Timeout of one question to a remote, 30 s where zero. A transfer may take 20 times as long.
	Timeout time.Duration
	// DataDir holds the object stores; "tidelock" in the user's cache folder where empty.
	DataDir string
	// CAFile holds certificates in PEM that an https server's may chain to, besides those of the system.
	CAFile string
	// Auth for a remote.
	Auth Auth
	// Logger for what needs no answer; nil for none.
	Logger *slog.Logger
	// Progress is told what a transfer has come to, often, and "" at its end; nil for none.
	Progress func(doing string)
}

// Auth is how to log in to a remote. All of it is secret, except names.
type Auth struct {
	// Token is sent as the password of HTTP basic authentication, as GitHub, GitLab, Gitea and Bitbucket take it.
	Token string
	// Username for basic authentication and ssh; where empty "x-access-token" with a Token, else "git".
	Username string
	// Password for basic authentication and ssh.
	Password string
	// SSHKeyFile is a private key in PEM or OpenSSH's format. Without one the agent at SSH_AUTH_SOCK is asked.
	SSHKeyFile string
	// SSHKeyPassphrase opens SSHKeyFile.
	SSHKeyPassphrase string
	// KnownHostsFile is what the host's key is checked against; where empty ~/.ssh/known_hosts and
	// /etc/ssh/ssh_known_hosts. There is no way to skip the check.
	KnownHostsFile string
}

const (
	defaultInterval = 30 * time.Second
	defaultTimeout  = 30 * time.Second
	transferFactor  = 20
)

// complete checks cfg and fills its defaults in.
func (cfg *Config) complete() error {
	cfg.Interval = cmp.Or(cfg.Interval, defaultInterval)
	cfg.Timeout = cmp.Or(cfg.Timeout, defaultTimeout)
	cfg.Name = cmp.Or(cfg.Name, "default")
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	var errs []error
	if cfg.Interval < 0 || cfg.Timeout < 0 {
		errs = append(errs, errors.New("interval and timeout must not be negative"))
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`).MatchString(cfg.Name) {
		errs = append(errs, fmt.Errorf("name %q: only letters, digits, - and _ may be used", cfg.Name))
	}
	if err := checkRef(cfg.Ref); err != nil {
		errs = append(errs, err)
	}
	if cfg.DataDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			errs = append(errs, fmt.Errorf("find a folder for data (set the data directory): %w", err))
		}
		cfg.DataDir = filepath.Join(cache, "tidelock")
	}
	return errors.Join(errs...)
}

// checkRef refuses what git-check-ref-format(1) refuses, before it reaches a file name or the wire.
func checkRef(ref string) error {
	for part := range strings.SplitSeq(ref, "/") {
		bad := ref != "" && part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") ||
			strings.Contains(part, "..") || strings.ContainsAny(part, "\x7f ~^:?*[\\") || strings.Contains(part, "@{") ||
			strings.ContainsFunc(part, func(r rune) bool { return r < ' ' })
		if bad {
			return fmt.Errorf("ref %q: no name of a branch, tag or commit", ref)
		}
	}
	return nil
}
