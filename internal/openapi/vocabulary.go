package openapi

import "strings"

// form is what a field without objects of its own may hold.
type form string

const (
	asAnything form = "any"
	asText     form = "text"
	asFlag     form = "flag"
	asNumber   form = "number"
	asCount    form = "count" // a whole number from 0
	asMap      form = "map"
	asList     form = "list"
	asTexts    form = "texts" // a list of texts
	asTypes    form = "types" // a text, in OpenAPI 3.1 also a list of them
	asLimit    form = "limit" // a flag in OpenAPI 3.0, a number in 3.1
)

// field says what one field of a class holds.
type field struct {
	form   form // asAnything where the grammar has a rule for it
	needed bool
}

// vocabulary says for each class which fields there are. A class that it does not name may have any.
type vocabulary map[class]map[string]field

// newVocabulary joins the fields of a grammar with those that hold plain values. "!" marks what must be there.
func newVocabulary(g grammar, v31 bool) vocabulary {
	const described = " description:text summary:text"
	out := vocabulary{}
	for c, words := range map[class]string{
		document:       "openapi:text! info! jsonSchemaDialect:text security:list" + paths(v31),
		information:    "title:text! version:text! description:text summary:text termsOfService:text",
		contact:        "name:text url:text email:text",
		license:        "name:text! url:text identifier:text",
		server:         "url:text! description:text name:text",
		serverVariable: "default:any! enum:list description:text",
		tag:            "name:text! description:text",
		externalDocs:   "url:text! description:text",
		components:     "",
		pathItem:       "$ref:text" + described,
		operation:      "operationId:text tags:texts deprecated:flag security:list" + described + responses(v31),
		parameter: "name:text! in:text! description:text required:flag deprecated:flag allowEmptyValue:flag style:text " +
			"explode:flag allowReserved:flag example:any",
		header: "description:text required:flag deprecated:flag allowEmptyValue:flag style:text explode:flag " +
			"allowReserved:flag example:any",
		requestBody:   "content! required:flag description:text",
		response:      "description:text!",
		mediaType:     "example:any",
		encoding:      "contentType:text style:text explode:flag allowReserved:flag",
		example:       "value:any externalValue:text" + described,
		link:          "operationRef:text operationId:text parameters:map requestBody:any description:text",
		discriminator: "propertyName:text! mapping:map",
		xmlShape:      "name:text namespace:text prefix:text attribute:flag wrapped:flag",
		securityType: "type:text! description:text name:text in:text scheme:text bearerFormat:text " +
			"openIdConnectUrl:text",
		flow: "authorizationUrl:text tokenUrl:text refreshUrl:text scopes:map",
		schema: "title:text description:text type:types format:text default:any example:any enum:list required:texts " +
			"multipleOf:number maximum:number minimum:number exclusiveMaximum:limit exclusiveMinimum:limit " +
			"maxLength:count minLength:count pattern:text maxItems:count minItems:count uniqueItems:flag " +
			"maxProperties:count minProperties:count nullable:flag readOnly:flag writeOnly:flag deprecated:flag" + keywords(v31),
	} {
		out[c] = fieldsOf(words, g[c])
	}
	return out
}

func paths(v31 bool) string {
	if v31 {
		return ""
	}
	return " paths!"
}

func responses(v31 bool) string {
	if v31 {
		return ""
	}
	return " responses!"
}

// keywords are those of schemas that came with OpenAPI 3.1.
func keywords(v31 bool) string {
	if !v31 {
		return ""
	}
	return " const:any examples:list minContains:count maxContains:count dependentRequired:map"
}

func fieldsOf(words string, rules map[string]rule) map[string]field {
	out := map[string]field{}
	for name := range rules {
		out[name] = field{form: asAnything}
	}
	for word := range strings.FieldsSeq(words) {
		word, needed := strings.CutSuffix(word, "!")
		name, kind, ok := strings.Cut(word, ":")
		if !ok {
			kind = string(asAnything)
		}
		out[name] = field{form: form(kind), needed: needed}
	}
	return out
}
