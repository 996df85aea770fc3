package mock

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/tidelock/tidelock/internal/openapi"
)

// block is a paragraph, a list, or code, of a description.
type block struct {
	Spans []phrase
	Items [][]phrase
	Code  string
}

// phrase is text of one kind.
type phrase struct {
	Text         string
	Code, Strong bool
}

// prose reads of a description's Markdown what it takes to be read well: paragraphs, lists, code, and what is strong. Anything
// else, HTML too, stays text.
func prose(text string) []block {
	const longest = 20_000
	text = strings.ReplaceAll(short(text, longest), "\r\n", "\n")
	var out []block
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			_, code, _ := strings.Cut(part, "\n") // the first line names the language
			out = append(out, block{Code: strings.TrimRight(code, "\n")})
			continue
		}
		for paragraph := range strings.SplitSeq(part, "\n\n") {
			out = append(out, paragraphs(paragraph)...)
		}
	}
	return out
}

// paragraphs splits lines into text and lists.
func paragraphs(text string) []block {
	var out []block
	var words []string
	flush := func() {
		if words != nil {
			out, words = append(out, block{Spans: spans(strings.Join(words, " "))}), nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(line, "- ")
		if !isItem {
			item, isItem = strings.CutPrefix(line, "* ")
		}
		switch {
		case line == "":
		case isItem:
			flush()
			if n := len(out); n > 0 && out[n-1].Items != nil {
				out[n-1].Items = append(out[n-1].Items, spans(item))
			} else {
				out = append(out, block{Items: [][]phrase{spans(item)}})
			}
		case strings.HasPrefix(line, "#"):
			flush()
			out = append(out, block{Spans: []phrase{{Text: strings.TrimLeft(line, "# "), Strong: true}}})
		default:
			words = append(words, line)
		}
	}
	flush()
	return out
}

// spans splits at `code` and **strong**.
func spans(text string) []phrase {
	var out []phrase
	for i, part := range strings.Split(text, "`") {
		if part == "" {
			continue
		}
		if i%2 == 1 {
			out = append(out, phrase{Text: part, Code: true})
			continue
		}
		for j, piece := range strings.Split(part, "**") {
			if piece != "" {
				out = append(out, phrase{Text: piece, Strong: j%2 == 1})
			}
		}
	}
	return out
}

func firstLine(text string) string {
	const longest = 300
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return short(line, longest)
}

// steps splits a path template at its parameters.
func steps(template string) []step {
	var out []step
	for template != "" {
		literal, rest, ok := strings.Cut(template, "{")
		if literal != "" {
			out = append(out, step{Text: literal})
		}
		if !ok {
			break
		}
		name, behind, _ := strings.Cut(rest, "}")
		out = append(out, step{Text: "{" + name + "}", Template: true})
		template = behind
	}
	return out
}

// anchor makes a part of an id of any text, another for each.
func anchor(text string) string { return strings.ReplaceAll(url.PathEscape(text), "%", ".") }

func schemaID(name string) string { return "schema-" + anchor(name) }

// pretty indents JSON and cuts what is too long to be read.
func pretty(mediaType string, body []byte) string {
	const longest = 20_000
	if openapi.IsJSON(mediaType) {
		var out bytes.Buffer
		if json.Indent(&out, body, "", "  ") == nil {
			body = out.Bytes()
		}
	}
	if !utf8.Valid(body) {
		return ""
	}
	return strings.ToValidUTF8(short(string(body), longest), "")
}

// pathOf returns a URL whose path is a template of the document.
func pathOf(template string) *url.URL { return &url.URL{Path: template} }

// quoted writes a word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func anyEscape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
