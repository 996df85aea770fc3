package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/itchyny/gojq"
)

const (
	githubComments = "/repos/tide/shop/issues/7/comments"
	gitlabNotes    = "/projects/3/merge_requests/7/notes"
	forgeToken     = "forge-token-5d41402abc"
)

// comment is one comment on a pull request.
type comment struct {
	id           int
	author, body string
}

// forge is what the snippets use of GitHub's and GitLab's API.
type forge struct {
	mu       sync.Mutex
	comments []comment
	requests []string
	url      string
}

func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// ServeHTTP answers pages of two comments, so that a reader that looks at one page alone is found out.
func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	if r.Header.Get("Private-Token") != forgeToken && r.Header.Get("Authorization") != "token "+forgeToken {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	body := r.FormValue("body")
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var in struct {
			Body string `json:"body"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = in.Body
	}
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case r.URL.Path == "/user":
		f.answer(w, map[string]any{"id": 42})
	case r.Method == http.MethodGet && (r.URL.Path == githubComments || r.URL.Path == gitlabNotes):
		f.list(w, r.URL.Query())
	case r.Method == http.MethodPost && (r.URL.Path == githubComments || r.URL.Path == gitlabNotes):
		f.comments = append(f.comments, comment{id: 100 + len(f.comments), author: "github-actions[bot]", body: body})
		f.answer(w, map[string]any{"id": 100})
	case r.Method == http.MethodPatch || r.Method == http.MethodPut:
		at := slices.IndexFunc(f.comments, func(c comment) bool { return strconv.Itoa(c.id) == last })
		if at < 0 {
			http.NotFound(w, r)
			return
		}
		f.comments[at].body = body
		f.answer(w, map[string]any{"id": f.comments[at].id})
	default:
		http.NotFound(w, r)
	}
}

// begin says what stands there before the pipeline runs.
func (f *forge) begin(comments []comment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.comments = comments
}

// seen returns the comments, and the requests that were made.
func (f *forge) seen() ([]comment, []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.comments), slices.Clone(f.requests)
}

func (f *forge) list(w http.ResponseWriter, q url.Values) {
	const perPage = 2
	page := f.comments
	if f := q.Get("page"); f != "" {
		n, _ := strconv.Atoi(f)
		page = page[min(len(page), perPage*(n-1)):min(len(page), perPage*n)]
	}
	out := []any{}
	for _, c := range page {
		author := 1
		if c.author == "github-actions[bot]" {
			author = 42
		}
		out = append(out, map[string]any{
			"id": c.id, "body": c.body, "user": map[string]any{"login": c.author}, "author": map[string]any{"id": author},
		})
	}
	f.answer(w, out)
}

func (*forge) answer(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v)
}

// tool makes a command of a function.
func tool(run func(args []string, in io.Reader, out io.Writer) error) func() {
	return func() {
		if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // the end of a program
		}
	}
}

// jq is the command of that name, as far as the snippets use it.
func jq(args []string, in io.Reader, out io.Writer) error {
	var names []string
	var values []any
	for len(args) > 0 && args[0] == "--argjson" {
		var v any
		if err := json.Unmarshal([]byte(args[2]), &v); err != nil {
			return err
		}
		names, values, args = append(names, "$"+args[1]), append(values, v), args[3:]
	}
	if len(args) != 1 {
		return fmt.Errorf("jq: cannot %q", args)
	}
	query, err := gojq.Parse(args[0])
	if err != nil {
		return err
	}
	code, err := gojq.Compile(query, gojq.WithVariables(names))
	if err != nil {
		return err
	}
	var doc any
	if err := json.NewDecoder(in).Decode(&doc); err != nil {
		return err
	}
	for it := code.Run(doc, values...); ; {
		v, ok := it.Next()
		if !ok {
			return nil
		}
		if err, ok := v.(error); ok {
			return err
		}
		fmt.Fprintln(out, v)
	}
}

// fakeGH is "gh api", as far as the snippets use it: its --jq is gojq too.
func fakeGH(args []string, _ io.Reader, out io.Writer) error {
	if len(args) < 2 || args[0] != "api" {
		return fmt.Errorf("gh: cannot %q", args)
	}
	method, path, filter, pages := http.MethodGet, "", "", 1
	fields := map[string]string{}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		switch args[0] {
		case "--silent":
		case "--paginate":
			pages = 9
		case "--method", "--jq", "--field":
			switch args[0] {
			case "--method":
				method = args[1]
			case "--jq":
				filter = args[1]
			default:
				key, file, _ := strings.Cut(args[1], "=@")
				b, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				fields[key] = string(b)
			}
			args = args[1:]
		default:
			path = "/" + args[0]
		}
	}
	for page := 1; page <= pages; page++ {
		b, err := forgeCall(method, path, page, fields)
		if err != nil {
			return err
		}
		if filter != "" {
			if err := jq([]string{filter}, bytes.NewReader(b), out); err != nil {
				return err
			}
		}
	}
	return nil
}

func forgeCall(method, path string, page int, fields map[string]string) ([]byte, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if method == http.MethodGet {
		path, body = path+"&page="+strconv.Itoa(page), nil
	}
	req, err := http.NewRequest(method, os.Getenv("FORGE")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "token "+os.Getenv("GH_TOKEN"))
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("gh: HTTP %d: %s", res.StatusCode, b)
	}
	return b, err
}
