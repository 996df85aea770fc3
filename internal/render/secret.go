package render

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// secret moves stringData into data: it is write-only, so a key that goes from it would stay in the cluster for ever, and
// what is live could not be compared.
func (c *checked) secret() {
	if c.Group != "" || c.Kind != "Secret" {
		return
	}
	object := c.content.Object
	data, ok := object["data"].(map[string]any)
	if !ok && object["data"] != nil {
		c.refuse(field("data"), "want keys and values, got %s", typeName(object["data"]))
	}
	data = maps.Clone(data)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[key].(string)
		if data[key] == nil {
			text, ok = "", true
		}
		// Kubernetes ignores line breaks in base64 (a block scalar); they are taken out, so that equal content is equal.
		text = strings.NewReplacer("\n", "", "\r", "").Replace(text)
		if _, err := base64.StdEncoding.DecodeString(text); !ok || err != nil {
			c.refuse(field("data", key), "is not base64: write plain text under stringData")
			continue
		}
		data[key] = text
	}
	plain, ok := object["stringData"].(map[string]any)
	if !ok && object["stringData"] != nil {
		c.refuse(field("stringData"), "want keys and values, got %s", typeName(object["stringData"]))
	}
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		text, ok := plain[key].(string)
		if !ok && plain[key] != nil {
			c.refuse(field("stringData", key), "want a string, got %s: put it in quotes", kindOfValue(plain[key]))
			continue
		}
		if data == nil {
			data = map[string]any{}
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if len(data) == 0 && plain == nil {
		return
	}
	c.metadata()
	delete(c.content.Object, "stringData")
	c.content.Object["data"] = data
}

// configMap refuses values that the API server would refuse in words of its own: numbers and booleans without quotes.
func (c *checked) configMap() {
	if c.Group != "" || c.Kind != "ConfigMap" {
		return
	}
	for _, in := range []string{"data", "binaryData"} {
		c.stringsIn(field(in), c.content.Object[in])
	}
}

// kindOfValue is typeName without the value: true is a value too.
func kindOfValue(v any) string {
	if _, ok := v.(bool); ok {
		return "a boolean"
	}
	return typeName(v)
}
