package sample

import (
	"context"

	"github.com/tidelock/tidelock/internal/openapi"
)

// Unanswered returns the answers of a document that cannot be made, since no value was found that fits their schema, each
// with its place and why: a request that is answered so gets status 500. It stops where ctx ends.
func Unanswered(ctx context.Context, doc openapi.Document) openapi.Errors {
	root, err := doc.Root()
	if err != nil {
		return nil // a document that was bundled can be read
	}
	u := unanswered{Maker: New(root), seen: map[*openapi.Node]bool{}}
	for template, item := range root.Member("paths").Members() {
		for _, method := range openapi.Methods() {
			operation := item.Member(method)
			if operation.Kind() == openapi.Object && operation.Member("responses").Len() == 0 {
				u.add(operation, "paths."+template+"."+method+": no answer can be made: it declares no responses")
			}
			for code, response := range operation.Member("responses").Members() {
				if ctx.Err() != nil {
					return u.found
				}
				u.response("paths."+template+"."+method+" "+code, root.Follow(response))
			}
		}
	}
	return u.found
}

type unanswered struct {
	*Maker
	seen  map[*openapi.Node]bool // responses, which operations may share
	found openapi.Errors
}

func (u *unanswered) add(at *openapi.Node, text string) {
	e := openapi.Error{Text: text}
	e.Path, e.Line = at.Place()
	u.found = append(u.found, e)
}

func (u *unanswered) response(where string, response *openapi.Node) {
	if u.seen[response] {
		return
	}
	u.seen[response] = true
	for name, media := range response.Member("content").Members() {
		media = u.root.Follow(media)
		schema := media.Member("schema")
		if schema == nil || u.root.Example(media) != nil {
			continue
		}
		if _, err := u.Plain(schema); err != nil {
			u.add(media, where+" "+name+": no answer can be made: "+err.Error())
		}
	}
}
