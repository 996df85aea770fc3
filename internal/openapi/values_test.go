package openapi

import (
	"fmt"
	"strings"
	"testing"
)

func TestValuesKeepWhatWasWritten(t *testing.T) {
	for written, want := range map[string]string{
		"9007199254740993": "9007199254740993", "1.10": "1.10", "-0.5": "-0.5", "1e3": "1e3", "+7": "7", "007": "7",
		".5": "0.5", "5.": "5.0", "0x1F": "31", "0o17": "15", "1_000": `"1_000"`, "0b11": `"0b11"`, "12:30": `"12:30"`,
		"2024-05-06": `"2024-05-06"`, "2024-05-06T07:08:09Z": `"2024-05-06T07:08:09Z"`, "yes": `"yes"`, "on": `"on"`,
		"n": `"n"`, "True": "true", "~": "null", "": "null", "nil": `"nil"`, "'1'": `"1"`, `"null"`: `"null"`,
		"!!str 1": `"1"`, "!!float 1": "1", "1.2.3": `"1.2.3"`, "-": `"-"`, ".": `"."`, "e5": `"e5"`, "<b> & é": `"<b> & é"`,
		"{on: 1, 200: 2, 1.0: 3, ~: 4}": `{"on":1,"200":2,"1.0":3,"~":4}`, "[a, b]": `["a","b"]`,
		"{<<: {a: 1, b: 2}, a: 3}": `{"a":3,"b":2}`, `"\u2028\x01"`: "\"\\u2028\\u0001\"",
	} {
		t.Run(written, func(t *testing.T) {
			text := "v: " + written + "\n"
			if written == "-" {
				text = "v: '-'\n"
			}
			root, err := parse(&source{path: "a.yaml"}, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(root.Member("v").JSON()); got != want {
				t.Errorf("%s is %s, want %s", written, got, want)
			}
		})
	}
}

func TestWhatIsNotJSONIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"v: .nan":          "a.yaml:1: .nan is no number in JSON: quote it if text is meant",
		"v: 1e999":         "a.yaml:1: the number 1e999 is out of range",
		"v: 1e-999999999":  "a.yaml:1: the number 1e-999999999 is out of range",
		"v: !!binary aGk=": "a.yaml:1: the tag !!binary has no meaning in OpenAPI",
		"v: !!int x":       `a.yaml:1: "x" is no value of !!int`,
		"{[a]: 1}":         "a.yaml:1: a key must be plain text",
		"a: &a [*a]":       "a.yaml:1: values are nested more than 256 deep",
		"a: b\nv: gr\xfcn": "a.yaml:2: the file is not UTF-8",
		"{a: {<<: 3}}":     "a.yaml:1: a merge key (<<) takes a map or a list of maps",
	} {
		_, err := parse(&source{path: "a.yaml"}, []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", text, err, want)
		}
	}
}

func TestSizesAreBounded(t *testing.T) {
	const jsonHead = `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{},"x-long":"`
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += strings.NewReplacer("N", string(rune('1'+i)), "P", string(rune('0'+i))).Replace(
			"aN: &aN [*aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP, *aP]\n")
	}
	many := map[string]string{"a.yaml": head + "paths: {}\ncomponents:\n  schemas:\n"}
	for i := range maxFiles + 1 {
		many["a.yaml"] += fmt.Sprintf("    A%d: {$ref: f%d.yaml}\n", i, i)
		many[fmt.Sprintf("f%d.yaml", i)] = "type: string"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"aliases of aliases": {
			files: map[string]string{"a.yaml": head + "paths: {}\nx-bomb:\n" + indent(bomb)}, want: "more than 1048576 values",
		},
		"many files": {
			files: many, want: "the description has more than 1000 files",
		},
		"a file of 20 MB": {
			files: map[string]string{"a.yaml": head + "paths: {}\n#" + strings.Repeat("x", 20<<20)}, want: "a.yaml: the files of the description are over 16777216 bytes",
		},
		"nested lists": {
			files: map[string]string{"a.yaml": head + "paths: {}\nx-deep: " + strings.Repeat("[", 1<<20)}, want: "a.yaml:4: ",
		},
		"a long document": {
			files: map[string]string{"a.yaml": jsonHead + strings.Repeat("x", MaxDocument) + `"}`}, want: "a.yaml: the document is 12582989 bytes as JSON: at most 12582912 are allowed",
		},
		"what does not shrink": {
			files: map[string]string{"a.yaml": jsonHead + noise(3<<19) + `"}`}, want: "bytes gzipped: a ConfigMap holds at most 1048576",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Bundle(t.Context(), "a.yaml", reader(c.files))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %.300v, want %s", err, c.want)
			}
		})
	}
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ") + "\n"
}

// noise returns text that gzip cannot shrink by much.
func noise(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	b := make([]byte, n)
	state := uint64(1)
	for i := range b {
		state = state*6364136223846793005 + 1442695040888963407
		b[i] = letters[state>>58]
	}
	return string(b)
}
