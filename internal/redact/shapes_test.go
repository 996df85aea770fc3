package redact

import (
	"strings"
	"testing"
)

func TestWhatLooksLikeASecretIsHidden(t *testing.T) {
	t.Parallel()
	shapes := NewShapes()
	tests := map[string]string{ // text with the secret in it, as SECRET: what is left
		"postgres://cart:SECRETSECRET@db:5432/cart?sslmode=off":                    "postgres://cart:***@db:5432/cart?sslmode=off",
		"redis://:SECRETSECRET@cache":                                              "redis://:***@cache",
		"https://SECRETSECRETSECRETSECRET@github.com/x":                            "https://***@github.com/x",
		"a https://u:SECRETSECRET@h/p and https://v:SECRETSECRET@h/p":              "a https://u:***@h/p and https://v:***@h/p",
		"cart --db-password=SECRET --port=80":                                      "cart --db-password=*** --port=80",
		"https://a.test/?x=1&access_token=SECRET&y=2":                              "https://a.test/?x=1&access_token=***&y=2",
		"Authorization: Bearer SECRETSECRET":                                       "Authorization: Bearer ***",
		"authorization: basic U0VDUkVUU0VDUkVUSECRET==":                            "authorization: basic ***",
		"-----BEGIN RSA PRIVATE KEY-----\nSECRET\n-----END RSA PRIVATE KEY-----\n": "***\n",
		"-----BEGIN PRIVATE KEY----- SECRET":                                       "***",
		"ghp_SECRETSECRETSECRETSECRETSECRET":                                       "***",
		"token glpat-SECRETSECRETSECRET1234 here":                                  "token *** here",
		"xoxb-SECRETSECRET-SECRET":                                                 "***",
		"https://hooks.slack.com/services/T0/B0/SECRET1":                           "https://hooks.slack.com/services/***",
		"AKIASECRETSECRETSECR":                                                     "***",
		"eyJSECRETSECRET.eyJSECRETSECRET.SECRET":                                   "***",
	}
	for text, want := range tests {
		if got := shapes.String(text); got != want || strings.Contains(got, "SECRET") {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	t.Parallel()
	shapes := NewShapes()
	for _, text := range []string{
		"https://shop.example.com/a@b", "ssh://git@host/x.git", "git@github.com:x/y.git", "registry.example.com/app@sha256:0123",
		"basic auth", "a bearer of news", "name: ghost", "http://user@host/", "",
	} {
		if got := shapes.String(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
