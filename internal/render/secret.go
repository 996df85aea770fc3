package render

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// secret moves stringData into data: it is write-only, so a key that goes from it would stay in the cluster for ever, and
// what is live could not be compared.
func (c *checked) secret() {
	if c.Group != "" || c.Kind != "Secret" {
		return
	}
	data, plain := c.encoded(), c.plain()
	if len(data) == 0 && plain == nil {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	maps.Copy(data, plain)
	size := 0
	for _, v := range data {
		text, _ := v.(string)
		size += base64.StdEncoding.DecodedLen(len(text))
	}
	c.dataSize(size)
	c.metadata()
	delete(c.content.Object, "stringData")
	c.content.Object["data"] = data
}

// encoded returns the data of a Secret, in base64 without line breaks.
func (c *checked) encoded() map[string]any {
	data, ok := c.content.Object["data"].(map[string]any)
	if !ok && c.content.Object["data"] != nil {
		c.refuse(field("data"), "want keys and values, got %s", typeName(c.content.Object["data"]))
	}
	data = maps.Clone(data)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		c.dataKey("data", key)
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
	return data
}

// plain returns the stringData of a Secret in base64; nil where it has none.
func (c *checked) plain() map[string]any {
	plain, ok := c.content.Object["stringData"].(map[string]any)
	if !ok {
		if v := c.content.Object["stringData"]; v != nil {
			c.refuse(field("stringData"), "want keys and values, got %s", typeName(v))
		}
		return nil
	}
	out := make(map[string]any, len(plain))
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		c.dataKey("stringData", key)
		text, ok := plain[key].(string)
		if !ok && plain[key] != nil {
			c.refuse(field("stringData", key), "want a string, got %s: put it in quotes", kindOfValue(plain[key]))
			continue
		}
		out[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return out
}

// maxData is how much a ConfigMap or Secret may hold, in bytes, as with the API server.
const maxData = 1 << 20

// configMap refuses what the API server would refuse in words of its own: numbers and booleans without quotes, too much.
func (c *checked) configMap() {
	if c.Group != "" || c.Kind != "ConfigMap" {
		return
	}
	size := 0
	for key, text := range c.stringsIn(field("data"), c.content.Object["data"]) {
		c.dataKey("data", key)
		size += len(text)
	}
	for key, text := range c.stringsIn(field("binaryData"), c.content.Object["binaryData"]) {
		c.dataKey("binaryData", key)
		size += base64.StdEncoding.DecodedLen(len(text))
	}
	c.dataSize(size)
}

// dataKey refuses a key that cannot be the name of a file.
func (c *checked) dataKey(in, key string) {
	if len(validation.IsConfigMapKey(key)) > 0 {
		c.refuse(field(in, key), "is no key: want letters, digits, '-', '_' and '.'")
	}
}

func (c *checked) dataSize(size int) {
	if size > maxData {
		c.refuse(field("data"), "a %s of %d KiB: at most %d fit", c.Kind, size>>10, maxData>>10)
	}
}

// kindOfValue is typeName without the value: true is a value too.
func kindOfValue(v any) string {
	if _, ok := v.(bool); ok {
		return "a boolean"
	}
	return typeName(v)
}
