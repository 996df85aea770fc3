package openapi

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Bounds of what the servers of one document multiply its operations by.
const (
	maxBases  = 64
	maxPlaces = 200_000
)

// BasePaths returns the paths of the servers of an operation, without a slash at the end, each once. A mock runs under
// other names than production, so scheme and host say nothing. A variable stands for all of its enum or, where it has
// none, for its default. The nearest servers count: those of the operation, else of its path, else of the document.
func BasePaths(root, item, operation *Node) ([]string, error) {
	servers := root.Member("servers")
	for _, nearer := range []*Node{item.Member("servers"), operation.Member("servers")} {
		if nearer.Len() > 0 {
			servers = nearer
		}
	}
	var out []string
	for _, server := range servers.Elements() {
		bases, err := expand(server)
		if err != nil {
			return nil, err
		}
		out = append(out, bases...)
	}
	if out == nil {
		return []string{""}, nil
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxBases {
		return nil, fmt.Errorf("the servers stand for more than %d base paths", maxBases)
	}
	return out, nil
}

// expand returns the base paths of one server.
func expand(server *Node) ([]string, error) {
	urls := []string{withoutHost(server.Member("url").Text())}
	for name, variable := range server.Member("variables").Members() {
		if !strings.Contains(urls[0], "{"+name+"}") {
			continue // it stands in the host
		}
		values := []string{variable.Member("default").Text()}
		for _, v := range variable.Member("enum").Elements() {
			values = append(values, v.Text())
		}
		var next []string
		for _, u := range urls {
			for _, v := range values {
				next = append(next, strings.ReplaceAll(u, "{"+name+"}", v))
			}
		}
		slices.Sort(next)
		if urls = slices.Compact(next); len(urls) > maxBases {
			return nil, fmt.Errorf("the server %s stands for more than %d base paths", server.Member("url").Text(), maxBases)
		}
	}
	for i, u := range urls {
		urls[i] = basePath(withoutHost(u))
	}
	return urls, nil
}

// unknownVariables are the names in the path of a server's URL for which it has no variable.
func unknownVariables(server *Node) []string {
	names, _, _ := parseTemplate(withoutHost(server.Member("url").Text()))
	return slices.DeleteFunc(names, func(name string) bool { return server.Member("variables").Member(name) != nil })
}

// withoutHost cuts scheme and host off, where they are there; templates in them do not matter.
func withoutHost(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		if rest, ok = strings.CutPrefix(url, "//"); !ok {
			return url
		}
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// basePath returns the path of what is left of a URL: "/v1" of "./v1/?a#b". A relative one is taken from the root: where the
// document would be served is not known.
func basePath(url string) string {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	return strings.TrimSuffix(path.Clean("/"+url), "/")
}

// checkServers refuses what would multiply the operations by more than can be served.
func checkServers(root *Node) Errors {
	var errs Errors
	places := 0
	for template, item := range root.Member("paths").Members() {
		for _, method := range Methods() {
			operation := item.Member(method)
			if operation.Kind() != Object {
				continue
			}
			bases, err := BasePaths(root, item, operation)
			if err != nil {
				file, line := operation.Place()
				errs = append(errs, Error{Path: file, Line: line, Text: "paths." + template + "." + method + ": " + err.Error()})
			}
			places += len(bases)
		}
	}
	if places > maxPlaces {
		file, line := root.Member("paths").Place()
		errs = append(errs, Error{Path: file, Line: line, Text: fmt.Sprintf(
			"paths: %d operations under all base paths of the servers: at most %d are allowed", places, maxPlaces)})
	}
	return errs
}
