package mock

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// ask sends "METHOD /target", headers as "Name: value", and a body.
func ask(t *testing.T, h http.Handler, line, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, target, _ := strings.Cut(line, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// told returns the violations of a problem, in words.
func told(t *testing.T, w *httptest.ResponseRecorder) []string {
	t.Helper()
	var p struct {
		Violations []violation `json:"violations"`
	}
	if w.Body.Len() == 0 {
		return nil
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	var out []string
	for _, v := range p.Violations {
		out = append(out, v.String())
	}
	return out
}

func TestParametersOfEveryStyleAreChecked(t *testing.T) {
	h := handler(t, "testdata/checked/openapi.yaml")
	for line, want := range map[string][]string{
		"GET /v1/simple/7":                   nil,
		"GET /v1/simple/x":                   {"path id must be integer"},
		"GET /v1/simple/%37":                 nil,
		"GET /v1/list/1,2":                   nil,
		"GET /v1/list/1,x":                   {"path ids /1 must be integer"},
		"GET /v1/list/1,2,3":                 {"path ids must have at most 2 items"},
		"GET /v1/label/.1.2":                 nil,
		"GET /v1/label-3.0/.1.2":             nil,
		"GET /v1/label-3.0/.1,2":             nil,
		"GET /v1/label/1":                    {"path v want a dot before it (style label)"},
		"GET /v1/label/.1.x":                 {"path v /1 must be integer"},
		"GET /v1/matrix/;R=1":                nil,
		"GET /v1/matrix/;R=x":                {"path v /R must be integer"},
		"GET /v1/file/abc.json":              nil,
		"GET /v1/file/abcd.json":             {"path name must have at most 3 characters"},
		"GET /v1/query":                      nil,
		"GET /v1/query?n=9&other=x":          nil,
		"GET /v1/query?n=10":                 {"query n must be at most 9"},
		"GET /v1/query?n=1&n=2":              {"query n must be there once"},
		"GET /v1/query?n=":                   {"query n must be integer"},
		"GET /v1/query?n=%zz":                {"query n has a percent sign that is no escape"},
		"GET /v1/query?form=1&form=2":        nil,
		"GET /v1/query?form=1,2":             {"query form /0 must be integer"},
		"GET /v1/query?comma=1,2":            nil,
		"GET /v1/query?comma=1%2C2":          nil,
		"GET /v1/query?comma=1,x":            {"query comma /1 must be integer"},
		"GET /v1/query?space=1%202+3":        nil,
		"GET /v1/query?space=1%20x":          {"query space /1 must be integer"},
		"GET /v1/query?pipe=1%7C2":           nil,
		"GET /v1/query?pipe=1|x":             {"query pipe /1 must be integer"},
		"GET /v1/query?deep[a]=1":            nil,
		"GET /v1/query?deep%5Ba%5D=x":        {"query deep /a must be integer"},
		"GET /v1/query?deep[b]=1":            {`query deep must have the property "a"`},
		"GET /v1/query?json=%7B%22x%22:1%7D": nil,
		"GET /v1/query?json=%7B%7D":          {`query json must have the property "x"`},
		"GET /v1/query?json=x":               {"query json is no JSON"},
		"GET /v1/query?day=2024-02-29":       nil,
		"GET /v1/query?day=2024-02-30":       {"query day must be a date, as 2024-01-31 is (format date)"},
		"GET /v1/query?flag":                 nil,
		"GET /v1/query?flag=maybe":           {"query flag must be boolean"},
		"GET /v1/query?either=true":          nil,
		"GET /v1/query?either=x":             {"query either must be integer or null or boolean"},
		"GET /v1/needs":                      {"query q is required", "header X-Id is required", "cookie sid is required"},
	} {
		w := ask(t, h, line, "")
		if diff := cmp.Diff(want, told(t, w)); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
		if status := map[bool]int{true: 204, false: 422}[want == nil]; w.Code != status {
			t.Errorf("%s: status %d, want %d", line, w.Code, status)
		}
	}
	w := ask(t, h, "GET /v1/needs?q=a", "", "X-Id: 1, 2", "Cookie: sid=7")
	if w.Code != http.StatusNoContent {
		t.Errorf("all that is needed: %d %s", w.Code, w.Body)
	}
}

func TestBodiesAreCheckedByTheirMediaType(t *testing.T) {
	h := handler(t, "testdata/checked/openapi.yaml")
	const multi = "Content-Type: multipart/form-data; boundary=b"
	for name, c := range map[string]struct {
		contentType, body string
		status            int
		want              []string
	}{
		"JSON that fits":           {"Content-Type: application/json; charset=utf-8", `{"name":"a","kids":[{"name":"b"}]}`, 204, nil},
		"JSON that does not":       {"Content-Type: application/json", `{"name":"a","kids":[{"name":""}]}`, 422, []string{"body /kids/0/name must have at least 1 characters"}},
		"broken JSON":              {"Content-Type: application/json", `{"name":`, 400, nil},
		"JSON behind a BOM":        {"Content-Type: application/json", "\ufeff{\"name\":\"a\"}", 204, nil},
		"deep JSON":                {"Content-Type: application/json", strings.Repeat("[", 100_000), 400, nil},
		"no body":                  {"Content-Type: application/json", "", 422, []string{"body is required"}},
		"another type":             {"Content-Type: image/png", "x", 415, nil},
		"no type":                  {"X-None: x", "x", 415, nil},
		"a form":                   {"Content-Type: application/x-www-form-urlencoded", "n=1&list=true&list=false", 204, nil},
		"a form that does not fit": {"Content-Type: application/x-www-form-urlencoded", "n=x&list=1", 422, []string{"body /n must be integer", "body /list/0 must be boolean"}},
		"a form with brackets":     {"Content-Type: application/x-www-form-urlencoded", "n=1&meta%5Border%5D=7&items[0][price]=9&items[1][price]=8&list[]=true", 204, nil},
		"brackets that do not fit": {"Content-Type: application/x-www-form-urlencoded", "n=1&meta[order]=x&items[0][price]=y", 422, []string{"body /meta/order must be integer", "body /items/0/price must be integer"}},
		"brackets without an end":  {"Content-Type: application/x-www-form-urlencoded", "n=1&meta[order=7", 422, []string{"body /meta want name[property]=value"}},
		"parts":                    {multi, "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\nContent-Type: image/png\r\n\r\n\xff\x00\r\n--b--\r\n", 204, nil},
		"a part of another type":   {multi, "--b\r\nContent-Disposition: form-data; name=\"f\"\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n", 422, []string{"body /f must have the Content-Type image/png"}},
		"parts without an end":     {multi, "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx", 400, nil},
		"text":                     {"Content-Type: text/plain", "abc", 204, nil},
		"text that is too long":    {"Content-Type: text/plain", "abcd", 422, []string{"body must have at most 3 characters"}},
		"bytes":                    {"Content-Type: application/octet-stream", "\x00\xff", 204, nil},
		"more bytes than are read": {"Content-Type: application/octet-stream", strings.Repeat("x", maxBody+1), 413, nil},
	} {
		w := ask(t, h, "POST /v1/body", c.body, c.contentType)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
		if diff := cmp.Diff(c.want, told(t, w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestABodyMayBeCompressed(t *testing.T) {
	h := handler(t, "testdata/checked/openapi.yaml")
	zipped := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return b.String()
	}
	for name, c := range map[string]struct {
		coding, body string
		status       int
	}{
		"gzip":               {"gzip", zipped(`{"name":"a"}`), 204},
		"what does not fit":  {"GZIP", zipped(`{"name":""}`), 422},
		"no gzip":            {"gzip", `{"name":"a"}`, 400},
		"half of it":         {"gzip", zipped(`{"name":"a"}`)[:20], 400},
		"a bomb":             {"gzip", zipped(strings.Repeat(" ", maxBody+1)), 413},
		"nothing":            {"identity", `{"name":"a"}`, 204},
		"a coding not known": {"br", "x", 415},
	} {
		w := ask(t, h, "POST /v1/body", c.body, "Content-Type: application/json", "Content-Encoding: "+c.coding)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
	}
}

func TestCredentialsHaveToBeThere(t *testing.T) {
	h := handler(t, "testdata/checked/openapi.yaml")
	for name, c := range map[string]struct {
		line    string
		headers []string
		status  int
	}{
		"none":                       {"GET /v1/secret", nil, 401},
		"a key":                      {"GET /v1/secret?key=x", nil, 204},
		"an empty key":               {"GET /v1/secret?key=", nil, 401},
		"a token":                    {"GET /v1/secret", []string{"Authorization: bearer x"}, 204},
		"one of two":                 {"GET /v1/secret", []string{"Authorization: Basic YTpi"}, 401},
		"both":                       {"GET /v1/secret", []string{"Authorization: Basic YTpi", "Cookie: sid=1"}, 204},
		"no base64 of user:password": {"GET /v1/secret", []string{"Authorization: Basic x", "Cookie: sid=1"}, 401},
	} {
		w := ask(t, h, c.line, "", c.headers...)
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
		if got := w.Header().Values("WWW-Authenticate"); (len(got) == 0) != (c.status != 401) {
			t.Errorf("%s: challenges %q", name, got)
		}
	}
}

func TestChecksCanBeTurnedOff(t *testing.T) {
	off := false
	h, err := NewHandler(bundle(t, "testdata/checked/openapi.yaml"), v1alpha1.MockServer{ValidateRequests: &off})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"GET /v1/simple/x", "GET /v1/secret", "POST /v1/body"} {
		if w := ask(t, h, line, "x"); w.Code != http.StatusNoContent {
			t.Errorf("%s: %d %s", line, w.Code, w.Body)
		}
	}
}

func TestClientsChooseByPrefer(t *testing.T) {
	h := handler(t, "testdata/checked/openapi.yaml")
	for name, c := range map[string]struct {
		headers       []string
		status        int
		body, applied string
	}{
		"an example":                       {[]string{"Prefer: example=two"}, 200, "2", "example=two"},
		"quoted, without case, of several": {[]string{"Prefer: wait=1, foo", `Prefer: EXAMPLE="two"; x=1`}, 200, "2", "example=two"},
		"the first of two counts":          {[]string{"Prefer: example=two, example=one"}, 200, "2", "example=two"},
		"a status by its range":            {[]string{"Prefer: code=418"}, 418, `"gone"`, "code=418"},
		"a status without a body":          {[]string{"Prefer: code=204"}, 204, "", "code=204"},
		"a status by default":              {[]string{"Prefer: code=503"}, 503, `"default"`, "code=503"},
		"an example of another response":   {[]string{"Prefer: example=gone"}, 400, `"gone"`, "example=gone"},
		"made up":                          {[]string{"Prefer: code=200, dynamic=true"}, 200, "", "code=200, dynamic=true"},
		"no such example":                  {[]string{"Prefer: code=200, example=gone"}, 406, "", ""},
		"no status":                        {[]string{"Prefer: code=abc"}, 406, "", ""},
		"nothing of ours":                  {[]string{"Prefer: return=minimal"}, 200, "1", ""},
	} {
		w := ask(t, h, "GET /v1/prefer", "", c.headers...)
		if w.Code != c.status || c.body != "" && w.Body.String() != c.body || w.Header().Get("Preference-Applied") != c.applied {
			t.Errorf("%s: %d %s %v", name, w.Code, w.Body, w.Header())
		}
	}
	if w := ask(t, h, "GET /v1/prefer", "", "Prefer: code=204"); w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
		t.Errorf("204 has a body: %v", w.Header())
	}
	if w := ask(t, h, "GET /v1/prefer", "", "Prefer: code=503"); w.Header().Get("X-Reason") != "because" {
		t.Errorf("the headers of the response are missing: %v", w.Header())
	}
	a, b := ask(t, h, "GET /v1/prefer?a", "", "Prefer: dynamic"), ask(t, h, "GET /v1/prefer?a", "", "Prefer: dynamic")
	if a.Body.String() != b.Body.String() {
		t.Errorf("equal requests are answered with %s and %s", a.Body, b.Body)
	}
	others := map[string]bool{}
	for i := range 8 {
		others[ask(t, h, "GET /v1/prefer?"+strconv.Itoa(i), "", "Prefer: dynamic").Body.String()] = true
	}
	if len(others) < 2 {
		t.Errorf("all requests are answered with %v", others)
	}
}

func TestWhatWasReadCanBeSentBack(t *testing.T) {
	h := handler(t, "testdata/checked/openapi.yaml")
	for body, want := range map[string]int{
		`{"id":7,"name":"a"}`:   http.StatusNoContent, // read-only: a server ignores it
		`{"id":"x","name":"a"}`: http.StatusNoContent,
		`{"name":"a"}`:          http.StatusNoContent, // required, but read-only
		`{"id":7}`:              http.StatusUnprocessableEntity,
	} {
		if w := ask(t, h, "POST /v1/body", body, "Content-Type: application/json"); w.Code != want {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

func TestBrowsersOfOtherOriginsAreAnswered(t *testing.T) {
	doc := bundle(t, "testdata/checked/openapi.yaml")
	some, err := NewHandler(doc, v1alpha1.MockServer{CORS: v1alpha1.MockCORS{AllowOrigins: []string{"https://a.test"}, AllowCredentials: true}})
	if err != nil {
		t.Fatal(err)
	}
	every := handler(t, "testdata/checked/openapi.yaml")
	w := ask(t, every, "OPTIONS /v1/body", "", "Origin: https://b.test", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-a")
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Methods") != "POST, OPTIONS" ||
		w.Header().Get("Access-Control-Allow-Headers") != "x-a" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w := ask(t, every, "GET /v1/simple/x", "", "Origin: https://b.test"); w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a script cannot read the problem: %v", w.Header())
	}
	if w := ask(t, some, "GET /v1/simple/1", "", "Origin: https://b.test"); w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("another origin: %v", w.Header())
	}
	if w := ask(t, some, "GET /v1/simple/1", "", "Origin: https://a.test"); w.Header().Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("the origin: %v", w.Header())
	}
}

func TestErrorsAreInjectedTheSameForTheSameSeed(t *testing.T) {
	doc := bundle(t, "testdata/checked/openapi.yaml")
	run := func(seed int64) (pattern string) {
		server := v1alpha1.MockServer{Seed: seed}
		if err := server.ErrorRate.UnmarshalJSON([]byte("0.5")); err != nil {
			t.Fatal(err)
		}
		h, err := NewHandler(doc, server)
		if err != nil {
			t.Fatal(err)
		}
		for range 64 {
			pattern += map[bool]string{true: "x", false: "."}[ask(t, h, "GET /v1/simple/1", "").Code == 500]
		}
		return pattern
	}
	if a, b := run(1), run(1); a != b || !strings.Contains(a, "x") || !strings.Contains(a, ".") {
		t.Errorf("%s and %s", a, b)
	}
	if run(1) == run(2) {
		t.Error("the seed says nothing")
	}
}
