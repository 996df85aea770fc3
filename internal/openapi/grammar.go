package openapi

import "slices"

// class is a type of object of the specification. Where its name is a section of components, a value of it can stand there
// and be referred to.
type class string

const (
	anything     class = "" // a value that holds nothing to resolve: an example, an extension
	document     class = "document"
	components   class = "components"
	pathItem     class = "pathItem"
	operation    class = "operation"
	mediaType    class = "mediaType"
	encoding     class = "encoding"
	schema       class = "schemas"
	response     class = "responses"
	parameter    class = "parameters"
	example      class = "examples"
	requestBody  class = "requestBodies"
	header       class = "headers"
	securityType class = "securitySchemes"
	link         class = "links"
	callback     class = "callbacks"

	information    class = "info"
	contact        class = "contact"
	license        class = "license"
	server         class = "server"
	serverVariable class = "serverVariable"
	tag            class = "tag"
	externalDocs   class = "externalDocs"
	discriminator  class = "discriminator"
	xmlShape       class = "xml"
	flows          class = "flows"
	flow           class = "flow"
)

// shape says how values of a class stand in a field.
type shape uint8

const (
	one     shape = iota
	list          // an array of them
	named         // a map from names
	pattern       // a map in which x- marks an extension
)

// rule is what a field holds.
type rule struct {
	class class
	shape shape
}

// grammar says for each class which fields hold what. What it does not name is data, and a $ref in data is text.
type grammar map[class]map[string]rule

// anyField stands for all fields of a class that are no extensions.
const anyField = "*"

func newGrammar() grammar {
	parameterFields := map[string]rule{
		"schema": {schema, one}, "examples": {example, named}, "content": {mediaType, named},
	}
	item := map[string]rule{"parameters": {parameter, list}, "servers": {server, list}}
	for _, method := range Methods() {
		item[method] = rule{operation, one}
	}
	return grammar{
		document: {
			"info": {information, one}, "servers": {server, list}, "tags": {tag, list}, "externalDocs": {externalDocs, one},
			"paths": {pathItem, pattern}, "webhooks": {pathItem, named}, "components": {components, one},
		},
		components: {
			"schemas": {schema, named}, "responses": {response, named}, "parameters": {parameter, named},
			"examples": {example, named}, "requestBodies": {requestBody, named}, "headers": {header, named},
			"securitySchemes": {securityType, named}, "links": {link, named}, "callbacks": {callback, named},
			"pathItems": {pathItem, named},
		},
		pathItem: item,
		operation: {
			"parameters": {parameter, list}, "requestBody": {requestBody, one}, "responses": {response, pattern},
			"callbacks": {callback, named}, "servers": {server, list}, "externalDocs": {externalDocs, one},
		},
		callback:    {anyField: {pathItem, one}},
		requestBody: {"content": {mediaType, named}},
		response: {
			"headers": {header, named}, "content": {mediaType, named}, "links": {link, named},
		},
		mediaType: {
			"schema": {schema, one}, "examples": {example, named}, "encoding": {encoding, named},
		},
		encoding:  {"headers": {header, named}},
		parameter: parameterFields,
		header:    parameterFields,
		schema:    schemaFields(),

		information:  {"contact": {contact, one}, "license": {license, one}},
		server:       {"variables": {serverVariable, named}},
		tag:          {"externalDocs": {externalDocs, one}},
		link:         {"server": {server, one}},
		securityType: {"flows": {flows, one}},
		flows: {
			"implicit": {flow, one}, "password": {flow, one}, "clientCredentials": {flow, one}, "authorizationCode": {flow, one},
		},
	}
}

// schemaFields are the keywords that hold schemas, of OpenAPI 3.0 and of JSON Schema 2020-12.
func schemaFields() map[string]rule {
	fields := map[string]rule{
		"discriminator": {discriminator, one}, "xml": {xmlShape, one}, "externalDocs": {externalDocs, one},
	}
	for _, f := range []string{
		"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems",
		"unevaluatedProperties", "contentSchema",
	} {
		fields[f] = rule{schema, one}
	}
	for _, f := range []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"} {
		fields[f] = rule{schema, named}
	}
	for _, f := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		fields[f] = rule{schema, list}
	}
	return fields
}

// referable reports whether a value of c can stand in components, and be referred to there.
func (c class) referable() bool {
	return slices.Contains([]class{
		schema, response, parameter, example, requestBody, header, securityType, link, callback,
	}, c)
}
