package redact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/redact"
)

func TestAValueIsHiddenInEveryFormThatItTakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		values []string
		text   string
		want   string
	}{
		"as it is": {
			reason: "a library quotes the value in its error",
			values: []string{"hunter22"}, text: `bad value "hunter22"`, want: `bad value "***"`,
		},
		"as base64": {
			reason: "the value was given in plain, and a library prints the Secret's data",
			values: []string{"CANARY-VALUE"}, text: "k: Q0FOQVJZLVZBTFVF", want: "k: ***",
		},
		"decoded": {
			reason: "the value was given as data, and a library prints what it decodes to",
			values: []string{"Q0FOQVJZLVZBTFVF"}, text: "got CANARY-VALUE", want: "got ***",
		},
		"the longest first": {
			reason: "else the rest of the longer one would stay",
			values: []string{"pass", "password"}, text: "password", want: "***",
		},
		"one line of many": {
			reason: "a key is printed line by line",
			values: []string{"line-one\nline-two"}, text: "at line-two:", want: "at ***:",
		},
		"quoted as in JSON": {
			reason: "an object is printed as JSON",
			values: []string{"a\"b\nc-long"}, text: `{"k":"a\"b\nc-long"}`, want: `{"k":"***"}`,
		},
		"inside a longer text in base64": {
			reason: "a header of basic authentication holds user and password as one",
			values: []string{"hunter22-horse"}, text: "got Ym9iOmh1bnRlcjIyLWhvcnNl", want: "got Ym9iOm***",
		},
		"in hex": {
			reason: "a checksum's printer shows bytes so",
			values: []string{"hunter22"}, text: "68756e7465723232", want: "***",
		},
		"too short to hide": {
			reason: "a message without its 1s says nothing any more, and shows what was hidden",
			values: []string{"1", "on"}, text: "line 1: on", want: "line 1: on",
		},
		"nothing to hide": {reason: "the zero redactor passes text on", text: "as it is", want: "as it is"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := redact.New(tt.values...).String(tt.text); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}

func TestAnAddressLosesItsCredentials(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"https://user:token@git.example.com/a/b.git":    "https://git.example.com/a/b.git",
		"https://token@git.example.com/a/b.git":         "https://git.example.com/a/b.git",
		"https://git.example.com/a.git?access_token=xx": "https://git.example.com/a.git",
		"ssh://git:secret@git.example.com/a.git":        "ssh://git@git.example.com/a.git",
		"git@git.example.com:a/b.git":                   "git@git.example.com:a/b.git",
		"https://us er:pa%ss@git.example.com/a.git":     "https://git.example.com/a.git",
		"user:pa%ss@git.example.com/a.git":              "git.example.com/a.git",
		"/srv/git/shop.git":                             "/srv/git/shop.git",
		"../shop":                                       "../shop",
	}
	got := map[string]string{}
	for in := range want {
		got[in] = redact.URL(in)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func FuzzNoValueSurvives(f *testing.F) {
	f.Add("password", "the password is password")
	f.Add("aaaa", "aaaaaaa")
	f.Add("a***b", "aa***bb***")
	f.Fuzz(func(t *testing.T, value, text string) {
		if len(value) < 4 || strings.Contains(redact.Mark, value) || strings.Contains(value, "*") {
			return
		}
		if got := redact.New(value).String(text + value + text); strings.Contains(got, value) {
			t.Errorf("%q is still in %q", value, got)
		}
	})
}
