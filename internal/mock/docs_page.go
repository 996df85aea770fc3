package mock

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/tidelock/tidelock/internal/openapi"
)

//go:embed page/page.html page/page.css page/page.js
var pageFiles embed.FS

// page is a document made ready to be read: by people, and by tools. What takes time is done when it is asked for first.
type page struct {
	doc  openapi.Document
	yaml func() ([]byte, error)
	html func() (rendered, error)
}

// rendered is the page for people with the policy that lets browsers run what is in it, and nothing else.
type rendered struct {
	html   []byte
	policy string
}

// newPage makes the page of a document that a answers; port is that of the mock.
func newPage(doc openapi.Document, a *api, port uint16) *page {
	return &page{
		doc:  doc,
		yaml: sync.OnceValues(func() ([]byte, error) { return asYAML(doc) }),
		html: sync.OnceValues(func() (rendered, error) { return render(doc, a, port) }),
	}
}

func render(doc openapi.Document, a *api, port uint16) (rendered, error) {
	root, err := openapi.Parse(doc.JSON)
	if err != nil {
		return rendered{}, fmt.Errorf("document the API: %w", err)
	}
	t, err := template.ParseFS(pageFiles, "page/page.html")
	if err != nil {
		return rendered{}, fmt.Errorf("document the API: %w", err)
	}
	css, _ := pageFiles.ReadFile("page/page.css") // both are embedded
	js, _ := pageFiles.ReadFile("page/page.js")
	v := viewer{root: root, bodies: newBodies(root), api: a, port: port}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		pageView
		CSS template.CSS
		JS  template.JS
	}{v.view(doc), template.CSS(css), template.JS(js)}) //nolint:gosec // files of ours, nothing of the document
	if err != nil {
		return rendered{}, fmt.Errorf("document the API: %w", err)
	}
	return rendered{html: out.Bytes(), policy: "default-src 'none'; style-src '" + digest(css) + "'; script-src '" + digest(js) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}, nil
}

// digest names an inline style or script in a Content-Security-Policy.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (p *page) serveHTML(w http.ResponseWriter, r *http.Request) {
	out, err := p.html()
	if err != nil {
		say(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", out.policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // an edit of the document is seen
	serveText(w, r, "text/html; charset=utf-8", out.html)
}

func (p *page) serveJSON(w http.ResponseWriter, r *http.Request) {
	serveText(w, r, "application/json", p.doc.JSON)
}

func (p *page) serveYAML(w http.ResponseWriter, r *http.Request) {
	out, err := p.yaml()
	if err != nil {
		say(w, http.StatusInternalServerError, err.Error()+"\n")
		return
	}
	serveText(w, r, "application/yaml", out)
}

// serveText answers with a body, compressed where that is taken: the page of a large document has 14 MB.
func serveText(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // an error here is the client's, also below
		return
	}
	h.Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that there is
	_, _ = z.Write(body)
	_ = z.Close()
}

// asYAML writes the document as YAML: in its order, with its digits.
func asYAML(doc openapi.Document) ([]byte, error) {
	root, err := openapi.Parse(doc.JSON)
	if err != nil {
		return nil, fmt.Errorf("write the document as YAML: %w", err)
	}
	const indent = 2
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(indent)
	if err := enc.Encode(yamlNode(root)); err != nil {
		return nil, fmt.Errorf("write the document as YAML: %w", err)
	}
	return out.Bytes(), enc.Close()
}

func yamlNode(n *openapi.Node) *yaml.Node {
	switch n.Kind() {
	case openapi.Object:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for name, value := range n.Members() {
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, yamlNode(value))
		}
		return out
	case openapi.Array:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range n.Elements() {
			out.Content = append(out.Content, yamlNode(item))
		}
		return out
	case openapi.String:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: n.Text()}
	case openapi.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: n.Text()}
	case openapi.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text()}
	case openapi.Absent, openapi.Null:
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}
