package mock

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/internal/openapi"
)

// pageView is what the page shows. It holds text alone: the template escapes it.
type pageView struct {
	Title, Version, OpenAPI string
	Description             []block
	Bases                   []string
	Groups                  []groupView
	Schemas                 []schemaView
}

// groupView are the operations of one tag.
type groupView struct {
	Name        string
	Description []block
	Operations  []operationView
}

type operationView struct {
	ID, Method, Find, Summary string
	Segments                  []string // of the path, each with the slash behind it: where a line may break
	Steps                     []step
	Deprecated                bool
	Description               []block
	Security                  string
	Parameters                []fieldView
	Bodies                    []bodyView
	Curl                      string
	Responses                 []responseView
}

// step is a part of a path.
type step struct {
	Text     string
	Template bool
}

// fieldView is a parameter, a header or a property.
type fieldView struct {
	Name, In    string
	Required    bool
	Depth       int
	Type        []typeText
	Description []block
}

type bodyView struct {
	Type     string
	Required bool
	Rows     []fieldView
}

type responseView struct {
	Code, Class, Summary string
	Open                 bool
	Headers              []fieldView
	Media                []mediaView
}

type mediaView struct {
	Type, Example string
	Names         []string
	Rows          []fieldView
}

type schemaView struct {
	ID, Name, Find string
	Description    []block
	Rows           []fieldView
}

// viewer makes the view of a document.
type viewer struct {
	root   *openapi.Node
	bodies *bodies
	api    *api
	port   uint16
}

func (v *viewer) view(doc openapi.Document) pageView {
	out := pageView{
		Title: doc.Title, Version: doc.Version, OpenAPI: doc.OpenAPI,
		Description: prose(v.root.Member("info").Member("description").Text()),
		Groups:      v.groups(),
	}
	for _, b := range v.api.bases {
		out.Bases = append(out.Bases, cmp.Or(b.prefix, "/"))
	}
	for name, schema := range v.root.Member("components").Member("schemas").Members() {
		out.Schemas = append(out.Schemas, schemaView{
			ID: schemaID(name), Name: name, Find: strings.ToLower(name),
			Description: prose(schema.Member("description").Text()), Rows: v.rows(schema),
		})
	}
	return out
}

// groups are the operations by their first tag: tags in the document's order, then those that it does not declare.
func (v *viewer) groups() []groupView {
	var out []groupView
	for _, tag := range v.root.Member("tags").Elements() {
		out = append(out, groupView{Name: tag.Member("name").Text(), Description: prose(tag.Member("description").Text())})
	}
	for template, item := range v.root.Member("paths").Members() {
		item = v.root.Follow(item)
		for _, method := range openapi.Methods() {
			op := item.Member(method)
			if op.Kind() != openapi.Object || !strings.HasPrefix(template, "/") {
				continue
			}
			name := "Operations"
			if tags := op.Member("tags").Elements(); len(tags) > 0 {
				name = tags[0].Text()
			}
			i := slices.IndexFunc(out, func(g groupView) bool { return g.Name == name })
			if i < 0 {
				i, out = len(out), append(out, groupView{Name: name})
			}
			out[i].Operations = append(out[i].Operations, v.operation(strings.ToUpper(method), template, item, op))
		}
	}
	return slices.DeleteFunc(out, func(g groupView) bool { return len(g.Operations) == 0 })
}

func (v *viewer) operation(method, template string, item, op *openapi.Node) operationView {
	c := compiler{root: v.root}
	bases, err := openapi.BasePaths(v.root, item, op)
	if err != nil { // it was served all the same
		bases = []string{""}
	}
	out := operationView{
		ID: "op-" + strings.ToLower(method) + "-" + anchor(template), Method: method, Segments: strings.SplitAfter(template, "/"), Steps: steps(template),
		Find:    strings.ToLower(method + " " + template + " " + op.Member("operationId").Text() + " " + op.Member("summary").Text()),
		Summary: op.Member("summary").Text(), Description: prose(op.Member("description").Text()),
		Deprecated: op.Member("deprecated").IsTrue(),
	}
	security := c.security(op)
	if security != nil {
		out.Security = security.String()
	}
	parameters := c.declared(item, op)
	for _, p := range parameters {
		f := v.field(p.Member("name").Text(), parameterSchema(v.root, p), p.Member("required").IsTrue(), 0)
		f.In = p.Member("in").Text()
		if text := p.Member("description").Text(); text != "" {
			f.Description = prose(text)
		}
		out.Parameters = append(out.Parameters, f)
	}
	body := c.root.Follow(op.Member("requestBody"))
	for name, media := range body.Member("content").Members() {
		out.Bodies = append(out.Bodies, bodyView{
			Type: name, Required: body.Member("required").IsTrue(), Rows: v.rows(media.Member("schema")),
		})
	}
	out.Curl = v.curl(method, bases[0]+template, parameters, body, security)
	out.Responses = v.responses(method, bases[0]+template, op)
	return out
}

// parameterSchema is that of a parameter or a header, which may stand in its content.
func parameterSchema(root, p *openapi.Node) *openapi.Node {
	if s := p.Member("schema"); s != nil {
		return s
	}
	for _, media := range p.Member("content").Members() {
		return root.Follow(media).Member("schema")
	}
	return nil
}

// responses shows what is answered: the bodies are those that the mock sends.
func (v *viewer) responses(method, path string, op *openapi.Node) []responseView {
	served := v.api.operation(method, path)
	var out []responseView
	for code, declared := range op.Member("responses").Members() {
		declared = v.root.Follow(declared)
		status, order := ranked(code)
		if order == 0 {
			continue
		}
		r := responseView{
			Code: code, Class: strconv.Itoa(status / 100), Summary: firstLine(declared.Member("description").Text()), //nolint:mnd // its class
		}
		for name, h := range declared.Member("headers").Members() {
			h = v.root.Follow(h)
			f := v.field(name, parameterSchema(v.root, h), false, 0)
			if text := h.Member("description").Text(); text != "" {
				f.Description = prose(text)
			}
			r.Headers = append(r.Headers, f)
		}
		first := served != nil && len(served.responses) > 0 && served.responses[0].key == code
		r.Open = first
		for name, media := range declared.Member("content").Members() {
			media = v.root.Follow(media)
			m := mediaView{Type: name, Rows: v.rows(media.Member("schema"))}
			for example := range media.Member("examples").Members() {
				m.Names = append(m.Names, example)
			}
			if served != nil {
				m.Example = served.shown(code, concrete(name))
			}
			r.Media = append(r.Media, m)
		}
		out = append(out, r)
	}
	return out
}

// operation returns the one that answers a path template of the document.
func (a *api) operation(method, path string) *operation {
	ops, _ := a.find(&http.Request{URL: pathOf(path)})
	if ops == nil {
		return nil
	}
	if op := ops.of(method); op != nil && strings.HasSuffix(path, strings.TrimPrefix(op.name, method+" ")) {
		return op
	}
	return nil
}

// shown is the body that is answered in a media type, for people.
func (o *operation) shown(code, mediaType string) string {
	for i := range o.responses {
		r := &o.responses[i]
		if r.key != code {
			continue
		}
		for j, offers := 0, r.ready().offers; j < len(offers); j++ {
			if offers[j].name == mediaType {
				return pretty(mediaType, offers[j].body)
			}
		}
	}
	return ""
}
