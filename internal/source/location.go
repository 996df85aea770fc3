package source

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// location is a parsed Config.Repository.
type location struct {
	// path of a local repository or folder; empty for a remote.
	path string
	// url of a remote, without credentials and query.
	url *url.URL
	// sshPath is the path as an ssh server is asked for it.
	sshPath string
	// shown is how it is written in revisions, messages and logs.
	shown string
}

// locate parses repository. Credentials found in it move into auth. No error repeats the text, which may hold some.
func locate(repository string, auth *Auth) (location, error) {
	switch {
	case repository == "":
		return location{}, errors.New("no repository given: name a folder, a bare repository or a URL")
	case strings.Contains(repository, "://"):
		return locateURL(repository, auth)
	case scpLike(repository):
		user, rest, ok := strings.Cut(repository, "@")
		if !ok {
			user, rest = "", repository
		}
		host, path, _ := strings.Cut(rest, ":")
		if host == "" || path == "" {
			return location{}, errors.New("repository: host or path is missing, write git@host:path")
		}
		auth.Username = cmp.Or(auth.Username, user, "git")
		return location{
			url: &url.URL{Scheme: "ssh", Host: host, Path: path}, sshPath: path,
			shown: auth.Username + "@" + host + ":" + path,
		}, nil
	}
	return local(repository)
}

// scpLike tells host:path from a file name as git does: a colon that no slash precedes.
func scpLike(s string) bool {
	colon := strings.IndexByte(s, ':')
	slash := strings.IndexByte(s, '/')
	return colon > 0 && (slash < 0 || colon < slash)
}

func locateURL(repository string, auth *Auth) (location, error) {
	u, err := url.Parse(repository)
	if err != nil {
		return location{}, errors.New("repository: this is no URL; special characters in it must be percent-encoded")
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return location{}, fmt.Errorf("repository: a file URL names no host (%q): write file:///path", u.Host)
		}
		return local(u.Path)
	case "http", "https", "ssh":
	default:
		return location{}, fmt.Errorf("repository: scheme %q is not supported, use https, http, ssh or file", u.Scheme)
	}
	if u.Hostname() == "" || strings.Trim(u.Path, "/") == "" {
		return location{}, errors.New("repository: host or path is missing in the URL")
	}
	password, _ := u.User.Password()
	name := u.User.Username()
	if password == "" && name != "" && u.Scheme != "ssh" && auth.Token == "" && auth.Password == "" {
		// https://TOKEN@host is how tokens are often written.
		auth.Token = name
	} else {
		auth.Username = cmp.Or(auth.Username, name)
	}
	if auth.Token == "" {
		auth.Password = cmp.Or(auth.Password, password)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	loc := location{url: &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}}
	shown := *loc.url
	if u.Scheme == "ssh" {
		auth.Username = cmp.Or(auth.Username, "git")
		shown.User = url.User(auth.Username)
		loc.sshPath = u.Path
		if strings.HasPrefix(u.Path, "/~") { // ssh://host/~user/x.git, as git reads it
			loc.sshPath = u.Path[1:]
		}
	}
	loc.shown = shown.String()
	return loc, nil
}

func local(path string) (location, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return location{}, fmt.Errorf("repository %s: %w", path, err)
	}
	return location{path: abs, shown: abs}, nil
}

// redactor knows every secret of auth, and the forms in which requests carry them.
func (a Auth) redactor() redactor {
	name, password := a.basic()
	secrets := []string{a.Token, a.Password, a.SSHKeyPassphrase}
	if password != "" {
		secrets = append(secrets, name+":"+password)
	}
	return newRedactor(secrets...)
}

// basic returns what is sent by HTTP basic authentication; two empty strings for nothing.
func (a Auth) basic() (name, password string) {
	switch {
	case a.Token != "":
		return cmp.Or(a.Username, "x-access-token"), a.Token
	case a.Password != "":
		return cmp.Or(a.Username, "git"), a.Password
	}
	return a.Username, ""
}
