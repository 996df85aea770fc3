package mock

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func version(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/bad-update-keeps-last-good/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestABadEditKeepsTheLastGoodDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	write(t, file, version(t, "v1.yaml"))
	s, log := serverOf(t, file)

	ctx, stop := context.WithCancel(t.Context())
	answers := make(map[string]int)
	var load sync.WaitGroup
	load.Go(func() {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for ctx.Err() == nil {
			body, err := answerTo(client, "http://"+s.Addr().String()+"/pet")
			if err != nil {
				t.Error(err)
				return
			}
			answers[body]++
		}
	})

	write(t, file, version(t, "v2-broken.yaml.txt"))
	refused := log.wait(t, "definition refused, the former one stays")
	if err, _ := refused["error"].(string); !strings.HasPrefix(err, "openapi.yaml:3: YAML syntax: ") {
		t.Errorf("the error of a broken file is %q", err)
	}
	write(t, file, version(t, "v3-badexample.yaml"))
	refused = log.wait(t, "definition refused, the former one stays")
	if err, _ := refused["error"].(string); err != "openapi.yaml:12: paths./pet.get 200 example: /id must be integer" {
		t.Errorf("the error of a bad example is %q", err)
	}
	if got := fetch(t, s.Addr(), "/pet"); got != `{"id":1,"v":"one"}` {
		t.Errorf("after two bad edits: %s", got)
	}
	write(t, file, version(t, "v4.yaml"))
	log.wait(t, "definition reloaded")
	if got := fetch(t, s.Addr(), "/pet"); got != `{"id":4,"v":"four"}` {
		t.Errorf("after a good edit: %s", got)
	}
	stop()
	load.Wait()
	for body, n := range answers {
		if body != `{"id":1,"v":"one"}` && body != `{"id":4,"v":"four"}` {
			t.Errorf("%d times neither of the two: %s", n, body)
		}
	}
}

func answerTo(client *http.Client, url string) (string, error) {
	res, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var body bytes.Buffer
	_, err = body.ReadFrom(res.Body)
	return body.String(), err
}

func TestAnEditOfAReferencedFileIsSeen(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/multi-file-refs")); err != nil {
		t.Fatal(err)
	}
	s, log := serverOf(t, filepath.Join(dir, "openapi.yaml"))
	state := filepath.Join(dir, "shared", "state.yaml")
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	refused := log.wait(t, "definition refused, the former one stays")
	want := `components/order.yaml:6: $ref "../shared/state.yaml": no file shared/state.yaml`
	if refused["error"] != want {
		t.Errorf("the error of a missing file is %q, want %q", refused["error"], want)
	}
	if got := fetch(t, s.Addr(), "/orders"); got != `[{"id":1,"state":"open"}]` {
		t.Error(got)
	}
}

func TestADefinitionIsFoundThroughALinkOutOfItsRepository(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"repo/.git", "other/.git", "other/api"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "other", "api"), filepath.Join(dir, "repo", "api")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other", "api", "a.yaml"), version(t, "v1.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	def, err := locate(filepath.Join(dir, "repo", "api", "a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := def.load(t.Context()); err != nil {
		t.Errorf("%+v: %v", def, err)
	}
}

func TestAFolderThatIsReplacedIsSeen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "api")
	file := filepath.Join(dir, "openapi.yaml")
	put := func(text string) {
		t.Helper()
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	w, err := newWatch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := w.follow([]string{file}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		reason string
		change func()
		want   bool
	}{
		{"nothing happened", func() {}, false},
		{"the folder goes, as where another branch is checked out", func() { _ = os.Rename(dir, dir+"~") }, true},
		{"it is still away", func() {}, false},
		{"another one comes, in which nothing was ever watched", func() { put("two") }, true},
	} {
		step.change()
		if got := w.changed(); got != step.want {
			t.Errorf("%s: changed %t", step.reason, got)
		}
		if err := w.follow([]string{file}); err != nil {
			t.Fatal(err)
		}
	}
}
