package openapi

import "strings"

// discriminator rewrites those values of a discriminator's mapping that are references.
func (b *bundler) discriminator(n *Node) *Node {
	mapping := n.Member("mapping")
	if mapping.Kind() != Object {
		return n
	}
	out := &Node{kind: Object, source: mapping.source, line: mapping.line}
	for name, value := range mapping.Members() {
		if value.Kind() == String && strings.ContainsAny(value.text, "/#.") && !b.isSchemaName(value.text) {
			ref := &Node{kind: Object, source: value.source, line: value.line}
			ref.add("$ref", value)
			value = b.reference(ref, value, schema).Member("$ref")
		}
		out.add(name, value)
	}
	return n.with("mapping", out)
}

func (b *bundler) isSchemaName(s string) bool {
	return b.root.root.Member("components").Member("schemas").Member(s) != nil
}

// isNamed reports whether a discriminator's mapping, or the name of a schema, leads from tag to an option.
func isNamed(schema, option *Node, tag string) bool {
	ref := option.Member("$ref").Text()
	if to := schema.Member("discriminator").Member("mapping").Member(tag).Text(); to != "" {
		tag = to
	}
	return ref != "" && tag[strings.LastIndexByte(tag, '/')+1:] == ref[strings.LastIndexByte(ref, '/')+1:]
}
