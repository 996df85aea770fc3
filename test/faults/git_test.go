//go:build e2e

package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gitServer serves a repository over HTTP by git's own program, and lets requests fail as it is told.
type gitServer struct {
	*httptest.Server

	mu     sync.Mutex
	fault  fault         // of every request; nil for none
	healed chan struct{} // closed when the fault ends
}

func serveGit(t *testing.T, bare string) *gitServer {
	t.Helper()
	path, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1",
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
	g := &gitServer{healed: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		g.mu.Lock()
		f := g.fault
		g.mu.Unlock()
		if f != nil {
			f(w, req, backend)
			return
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(func() {
		g.heal()
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// fail lets every request fail from now on.
func (g *gitServer) fail(f fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault, g.healed = f, make(chan struct{})
}

// heal ends the fault, and what hangs because of it.
func (g *gitServer) heal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = nil
	select {
	case <-g.healed:
	default:
		close(g.healed)
	}
}

// stall answers a share of the bytes, then nothing until the fault ends.
func (g *gitServer) stall(only string, share int) fault {
	return func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		if req.Method != only {
			forward.ServeHTTP(w, req)
			return
		}
		g.mu.Lock()
		healed := g.healed
		g.mu.Unlock()
		rec := httptest.NewRecorder()
		forward.ServeHTTP(rec, req)
		maps.Copy(w.Header(), rec.Header())
		body := rec.Body.Bytes()
		_, _ = w.Write(body[:len(body)*share/100])
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		select {
		case <-healed:
		case <-req.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// only has a fault for one method: GET asks for refs, POST for a pack.
func only(method string, f fault) fault {
	return func(w http.ResponseWriter, req *http.Request, forward http.Handler) {
		if req.Method == method {
			f(w, req, forward)
			return
		}
		forward.ServeHTTP(w, req)
	}
}

func page(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = w.Write([]byte("<html>please log in</html>"))
}

func roundabout(w http.ResponseWriter, req *http.Request, _ http.Handler) {
	http.Redirect(w, req, req.URL.RequestURI(), http.StatusFound)
}

// A git server that fails in any way keeps nothing from what was accepted: drift is corrected, also by a daemon that starts
// meanwhile, and the next commit goes in when the server is well again.
func TestGitServerMayFail(t *testing.T) {
	t.Parallel()
	x := prepare(t)
	g := serveGit(t, x.repo.Bare)
	x.set("--repo", g.URL+"/origin.git")
	x.undisturbed(t)
	ways := []struct {
		name    string
		fault   fault
		restart bool
	}{
		{name: "answers 500", fault: refuse(http.StatusInternalServerError, "InternalError"), restart: true},
		{name: "cuts connections", fault: cut},
		{name: "answers a page to log in", fault: page},
		{name: "redirects in a circle", fault: roundabout},
		{name: "answers half a list of refs", fault: only(http.MethodGet, half)},
		{name: "answers half a pack", fault: only(http.MethodPost, half)},
		{name: "refuses packs", fault: only(http.MethodPost, refuse(http.StatusBadGateway, "BadGateway"))},
		{name: "stalls with the refs", fault: g.stall(http.MethodGet, 50), restart: true},
		{name: "stalls with the pack", fault: g.stall(http.MethodPost, 50), restart: true},
		{name: "never begins to answer", fault: g.stall(http.MethodGet, 0)},
	}
	for n, way := range ways {
		t.Logf("the git server %s", way.name)
		was := x.texts(n + 1)
		g.fail(way.fault)
		commit := x.push(t, was)
		x.drift(t)
		if way.restart {
			x.kill(t)
			x.start(t)
			x.drift(t)
		}
		g.heal()
		x.check(t, n%2, commit)
	}
	t.Logf("%d ways, all converged", len(ways))
}

// drift deletes an object that both commits hold, and waits until it is back.
func (d *daemon) drift(t *testing.T) {
	t.Helper()
	cm := &corev1.ConfigMap{}
	cm.Namespace, cm.Name = d.name, fmt.Sprintf("drifting-%d", d.drifted%drifts)
	d.drifted++
	if err := d.client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	d.Eventually(t, "what was deleted to be back", func(ctx context.Context) error {
		err := d.client.Get(ctx, client.ObjectKeyFromObject(cm), cm)
		if err == nil && cm.DeletionTimestamp != nil {
			err = errors.New("it is being deleted")
		}
		return err
	})
}
