package mock

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// maxBody is the size in bytes of the largest request body that is read.
const maxBody = 8 << 20

// bodyRule is what an operation takes as a request body.
type bodyRule struct {
	required bool
	media    []mediaRule // the closest first
}

// mediaRule is one media type of a request body.
type mediaRule struct {
	offer
	kind     bodyKind
	schema   *openapi.Node
	encoding map[string]encoding // by property, of a form
}

// bodyKind says how a body is read.
type bodyKind uint8

const (
	opaqueBody bodyKind = iota // taken as it is
	jsonBody
	formBody
	multipartBody
	textBody
)

// encoding says how a property of a form is written.
type encoding struct {
	format
	contentTypes []string // of its parts; empty for all
}

func (c *compiler) body(declared *openapi.Node) *bodyRule {
	out := &bodyRule{required: declared.Member("required").IsTrue()}
	for name, media := range declared.Member("content").Members() {
		media = c.root.Follow(media)
		m := mediaRule{offer: newOffer(name), schema: media.Member("schema")}
		switch {
		case openapi.IsJSON(name):
			m.kind = jsonBody
		case m.family == "application" && m.subtype == "x-www-form-urlencoded":
			m.kind = formBody
		case m.family == "multipart":
			m.kind = multipartBody
		case m.family == "text" && m.subtype != "xml":
			m.kind = textBody
		}
		if m.family == "*" || m.subtype == "*" && m.family != "text" {
			m.kind = opaqueBody // its form shows only when it comes
		}
		if m.kind == formBody || m.kind == multipartBody {
			m.encoding = c.encodings(m.schema, media.Member("encoding"))
		}
		out.media = append(out.media, m)
	}
	slices.SortStableFunc(out.media, func(a, b mediaRule) int { return a.vagueness() - b.vagueness() })
	return out
}

func (m *mediaRule) vagueness() int {
	switch {
	case m.family == "*":
		return 2
	case m.subtype == "*":
		return 1
	}
	return 0
}

// encodings are those of the properties for which the document says something.
func (c *compiler) encodings(schema, declared *openapi.Node) map[string]encoding {
	out := map[string]encoding{}
	for name, e := range declared.Members() {
		x := encoding{format: c.format(e, "form")}
		x.schema = propertyOf(c.root, schema, name)
		x.types = typesIn(c.root, x.schema, 0)
		for one := range strings.SplitSeq(e.Member("contentType").Text(), ",") {
			if one = strings.TrimSpace(one); one != "" {
				x.contentTypes = append(x.contentTypes, one)
				x.json = x.json || openapi.IsJSON(one)
			}
		}
		out[name] = x
	}
	return out
}

// check reads the body and checks it. Where that cannot be it returns the problem; what does not fit is noted.
func (b *bodyRule) check(k *check, c *call) (problem, bool) {
	empty, err := b.isEmpty(k, c)
	switch {
	case err != nil:
		return unreadable(c, err), false
	case empty && b.required:
		k.violation(inBody, "", "", "is required")
		return problem{}, true
	case empty:
		return problem{}, true
	}
	contentType := c.r.Header.Get("Content-Type")
	name, parameters := strings.ToLower(strings.TrimSpace(contentType)), map[string]string(nil)
	if strings.IndexByte(name, ';') >= 0 {
		if plain, more, err := mime.ParseMediaType(contentType); err == nil {
			name, parameters = plain, more
		}
	}
	m := b.of(name)
	if m == nil {
		return b.unsupported(c, contentType), false
	}
	body := c.r.Body
	if c.r.ContentLength < 0 || c.r.ContentLength > maxBody { // else net/http reads no more than that
		body = http.MaxBytesReader(c.w, body, maxBody-int64(k.body.Len()))
	}
	if _, err := k.body.ReadFrom(body); err != nil {
		return unreadable(c, err), false
	}
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" {
		if p, ok := k.decompress(c, coding); !ok {
			return p, false
		}
	}
	return m.check(k, name, parameters)
}

// decompress replaces the body, in the coding gzip, by what it stands for.
func (k *check) decompress(c *call, coding string) (problem, bool) {
	switch strings.ToLower(coding) {
	case "identity":
		return problem{}, true
	case "gzip", "x-gzip":
	default:
		c.w.Header().Set("Accept-Encoding", "gzip") // RFC 9110, section 12.5.3
		return problem{
			status: http.StatusUnsupportedMediaType, detail: "the body cannot have the Content-Encoding " + short(coding, 200) + ": want gzip, or none",
		}, false
	}
	var plain bytes.Buffer
	r, err := gzip.NewReader(&k.body)
	if err == nil {
		_, err = plain.ReadFrom(http.MaxBytesReader(c.w, r, maxBody))
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return unreadable(c, err), false
	}
	if err != nil {
		return problem{status: http.StatusBadRequest, detail: "the body is not the gzip that its Content-Encoding says"}, false
	}
	k.body = plain
	return problem{}, true
}

// isEmpty reports whether there is no body. Where the length is not known the start of it is read.
func (b *bodyRule) isEmpty(k *check, c *call) (bool, error) {
	k.body.Reset()
	if c.r.Body == nil || c.r.ContentLength == 0 {
		return true, nil
	}
	if c.r.ContentLength > 0 {
		return false, nil
	}
	var first [1]byte
	n, err := io.ReadFull(c.r.Body, first[:])
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	k.body.Write(first[:n])
	return false, err
}

// unreadable is the answer where a body did not come to its end, or is too large.
func unreadable(c *call, err error) problem {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem{status: http.StatusRequestEntityTooLarge, detail: "the body is over 8 MiB"}
	}
	c.w.Header().Set("Connection", "close") // where it ends is not known
	return problem{status: http.StatusBadRequest, detail: "the body cannot be read to its end"}
}

func (b *bodyRule) unsupported(c *call, contentType string) problem {
	types := make([]string, len(b.media))
	for i := range b.media {
		types[i] = b.media[i].name
	}
	accepted := strings.Join(types, ", ")
	c.w.Header().Set("Accept", accepted) // RFC 9110, section 15.5.16
	detail := "the body has no Content-Type: want " + accepted
	if contentType != "" {
		const longest = 200
		detail = "the body cannot be " + contentType[:min(len(contentType), longest)] + ": want " + accepted
	}
	return problem{status: http.StatusUnsupportedMediaType, detail: detail}
}

// of returns the rule of a media type: its own, else that of its family, else that of all.
func (b *bodyRule) of(name string) *mediaRule {
	family, subtype, _ := strings.Cut(name, "/")
	for i := range b.media {
		m := &b.media[i]
		if m.family == family && (m.subtype == subtype || m.subtype == "*") || m.family == "*" {
			return m
		}
	}
	return nil
}

func (m *mediaRule) check(k *check, name string, parameters map[string]string) (problem, bool) {
	kind := m.kind
	if m.vagueness() > 0 && kind == opaqueBody && openapi.IsJSON(name) {
		kind = jsonBody
	}
	switch kind {
	case jsonBody:
		value, err := openapi.Parse(bytes.TrimPrefix(k.body.Bytes(), []byte("\xef\xbb\xbf"))) // RFC 8259, section 8.1: it may be ignored
		if err != nil {
			return problem{status: http.StatusBadRequest, detail: "the body is no JSON: " + withoutPlace(err)}, false
		}
		k.fits(inBody, "", m.schema, []*openapi.Node{value})
	case textBody:
		if m.schema != nil {
			k.fits(inBody, "", m.schema, scalars(typesIn(k.root, m.schema, 0), k.body.String()))
		}
	case formBody:
		m.checkForm(k)
	case multipartBody:
		return m.checkMultipart(k, parameters["boundary"])
	case opaqueBody:
	}
	return problem{}, true
}

// withoutPlace is the error without the name of a file, which a body has not.
func withoutPlace(err error) string {
	if e, ok := errors.AsType[openapi.Error](err); ok {
		return e.Text
	}
	return err.Error()
}
