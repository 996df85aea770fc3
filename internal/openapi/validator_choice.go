package openapi

import "slices"

// fitsNone says why a value fits none of the schemas of oneOf or anyOf: as the one of them says that must be meant, where
// that is clear. A discriminator decides about that, and not about what fits (OpenAPI 3.1.1, section 4.8.25).
func (r *run) fitsNone(schema *Node, keyword string, value *Node) {
	options := schema.Member(keyword).items
	property := schema.Member("discriminator").Member("propertyName").Text()
	tag := value.Member(property)
	meant := func(option *Node) bool { return r.mayBe(option, value) }
	if tag.Kind() == String {
		meant = func(option *Node) bool { return isNamed(schema, option, tag.text) }
	}
	i := slices.IndexFunc(options, meant)
	switch {
	case r.silent || i < 0 && tag == nil:
		r.violation(value, "must fit one of the schemas of %s", keyword)
	case i < 0:
		r.way = append(r.way, step{name: property})
		r.violation(tag, "is %s, which names none of the schemas of %s", short(tag), keyword)
		r.way = r.way[:len(r.way)-1]
	case tag.Kind() != String && slices.ContainsFunc(options[i+1:], meant):
		r.violation(value, "must fit one of the schemas of %s", keyword)
	default:
		r.check(options[i], value)
	}
}

// mayBe reports whether a schema allows the type of a value.
func (r *run) mayBe(schema, value *Node) bool {
	types := r.resolved(schema).Types()
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return isOfType(value, t) })
}
