package openapi

import (
	"encoding/json"
	"errors"
	"testing"
)

// FuzzJSON holds the parser against encoding/json: both take the same texts, and read the same values.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-0.5e+3,true,false,null,"x\u00e9\ud83d\ude00\n"]}`, `[]`, `{}`, ` 1 `, `01`, `1.`, `-`, `"`, `"\x"`, "\"\x01\"", "\"\xff\"", `[1,]`,
		`{"a":1,}`, `{"a" 1}`, `{"a":1 "b":2}`, `nul`, `truex`, `1 2`, "", `{"a":{"b":[{"c":[[]]}]}}`, `{1:2}`, `[1 2]`, `"\ud800"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Parse(text)
		if err == nil != json.Valid(text) {
			if e, ok := errors.AsType[Error](err); ok && json.Valid(text) && e.Text[:4] != "JSON" {
				return // too deep, too much, out of range, or a name twice
			}
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		var want, got any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(n.JSON(), &got); err != nil {
			t.Fatalf("%q reads back as %q: %v", text, n.JSON(), err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Fatalf("%q reads back as %q", text, n.JSON())
		}
	})
}
