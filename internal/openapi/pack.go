package openapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// ConfigMapKey is the key of a mock's ConfigMap (in binaryData) under which its packed document stands.
const ConfigMapKey = "openapi.json.gz"

// Pack compresses the document as it goes into a ConfigMap. Equal documents give equal bytes: no time and no name are in
// the gzip header.
func Pack(doc Document) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = w.Write(doc.JSON) // a Buffer takes every write
	_ = w.Close()
	return buf.Bytes()
}

// Unpack reads back what Pack wrote. It trusts that the document was validated when it was bundled, and checks only its
// shape and its size.
func Unpack(packed []byte) (Document, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Document{}, fmt.Errorf("unpack the OpenAPI document: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return Document{}, fmt.Errorf("unpack the OpenAPI document: %w", err)
	}
	if len(text) > MaxDocument {
		return Document{}, fmt.Errorf("unpack the OpenAPI document: it is over %d bytes", MaxDocument)
	}
	root, err := Parse(text)
	if err != nil {
		return Document{}, err
	}
	return describe(root, text)
}
