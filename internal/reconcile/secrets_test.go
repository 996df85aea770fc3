package reconcile

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/render"
)

// hiding is one place of a repository where a secret stands. In its files, @ is the secret as a quoted scalar, @word as it is
// (forms of one line alone), @base64, @url and @hex are those forms of it, and @lines are its lines, indented.
type hiding struct {
	files string // "name:\ncontent" parts, separated by lines of "--"
	// known adds a Secret that declares the value, so that it must show nowhere, whatever it is called.
	known bool
}

func hidings() map[string]hiding {
	object := func(kind, rest string) string {
		return "a.yaml:\napiVersion: v1\nkind: " + kind + "\nmetadata: {name: a}\n" + rest
	}
	ours := func(kind, spec string) string {
		return "a.yaml:\napiVersion: tidelock.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: a}\nspec: " + spec
	}
	pod := func(container string) string {
		return "a.yaml:\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {app: a}}\n" +
			"  template:\n    metadata: {labels: {app: a}}\n    spec: {containers: [{name: a, image: a, " + container + "}]}"
	}
	build := func(kustomization, files string) string {
		return "kustomization.yaml:\n" + kustomization + "\n--\n" + files
	}
	secret := object("Secret", "stringData: {k: @}")
	route := func(rule string) string { return ours("ProxyRoute", "{hosts: [a.test], rules: [{"+rule+"}]}") }
	return map[string]hiding{
		"data of a Secret":                          {files: object("Secret", "data: {k: @base64}")},
		"stringData of a Secret":                    {files: secret},
		"data that is no base64":                    {files: object("Secret", "data: {k: @}")},
		"data that is a list":                       {files: object("Secret", "data: [@]")},
		"stringData that is a text":                 {files: object("Secret", "stringData: @")},
		"stringData that is nested":                 {files: object("Secret", "stringData: {k: {k: @}}")},
		"a key of a Secret that stands twice":       {files: object("Secret", "stringData: {k: @, k: @}")},
		"a Secret with an unclosed brace":           {files: object("Secret", "stringData: {k: @")},
		"a Secret with a bad alias":                 {files: object("Secret", "stringData: {k: @, l: *@word}")},
		"a Secret that is indented with a tab":      {files: object("Secret", "stringData:\n\tk: @")},
		"a Secret with a block scalar":              {files: object("Secret", "stringData:\n  k: |\n@lines")},
		"a Secret with a bad name":                  {files: strings.Replace(secret, "name: a", "name: A_b", 1)},
		"a Secret with an annotation of a number":   {files: secret + "\nimmutable: 5\n--\nb.yaml:\n" + secret[len("a.yaml:\n"):]},
		"a Secret that two files declare":           {files: secret + "\n--\nb.yaml:\n" + secret[len("a.yaml:\n"):]},
		"a ConfigMap that repeats it":               {known: true, files: object("ConfigMap", "data: {k: @}")},
		"a ConfigMap that repeats it in base64":     {known: true, files: object("ConfigMap", "data: {k: @base64}")},
		"a ConfigMap that repeats it for a URL":     {known: true, files: object("ConfigMap", "data: {k: @url}")},
		"a ConfigMap that repeats it in hex":        {known: true, files: object("ConfigMap", "data: {k: @hex}")},
		"a ConfigMap with it in a longer text":      {known: true, files: object("ConfigMap", "data:\n  k: |\n    before\n@lines\n    after")},
		"an annotation that repeats it":             {known: true, files: strings.Replace(object("ConfigMap", ""), "name: a", "name: a, annotations: {a.test/k: @}", 1)},
		"a key of a ConfigMap":                      {known: true, files: object("ConfigMap", "data: {@: x}")},
		"a wrong type in a ConfigMap":               {known: true, files: object("ConfigMap", "data: {k: {@: @}}")},
		"kubectl's copy of a Secret":                {files: strings.Replace(secret, "name: a", `name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: @}`, 1)},
		"an unknown field of ours":                  {known: true, files: ours("TrafficSplit", "{@: 1}")},
		"a host of a route":                         {known: true, files: ours("ProxyRoute", "{hosts: [@], rules: []}")},
		"a wrong host beside a good Secret":         {known: true, files: route("match: {path: {type: @}}, directResponse: {status: 200}")},
		"a path of a route":                         {known: true, files: route("match: {path: {value: @}}, directResponse: {status: 200}")},
		"the body of an answer":                     {known: true, files: route("directResponse: {status: 200, body: @}")},
		"a header that a route matches":             {known: true, files: route("match: {headers: [{name: x-key, value: @}]}, directResponse: {status: 200}")},
		"a service of a route":                      {known: true, files: route("backend: {service: @, port: 80}")},
		"a schedule":                                {known: true, files: ours("At", "{schedule: @, command: [a]}")},
		"a time zone":                               {known: true, files: ours("At", `{schedule: "0 1 * * *", timeZone: @, command: [a]}`)},
		"a command":                                 {known: true, files: ours("At", `{schedule: "0 1 * * *", command: [a, @]}`)},
		"an unknown type of EnvoyConfig":            {known: true, files: ours("EnvoyConfig", `{resources: [{"@type": @}]}`)},
		"an inline string of EnvoyConfig":           {known: true, files: ours("EnvoyConfig", `{resources: [{"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret, name: a, tls_certificate: {private_key: {inline_string: @}, certificate_chain: @}}]}`)},
		"an OpenAPI document":                       {known: true, files: ours("APIMock", "{definition: @}")},
		"a variable with a telling name":            {files: pod("env: [{name: DB_PASSWORD, value: @}]")},
		"a variable that ends in TOKEN":             {files: pod("env: [{name: api-token, value: @}]")},
		"a password in the address of a database":   {files: pod(`env: [{name: DATABASE, value: "postgres://u:@url@db/a"}]`)},
		"a flag with a telling name":                {files: pod(`args: ["--db-password=@url"]`)},
		"a token in a query":                        {files: pod(`args: ["https://a.test/?x=1&access_token=@url"]`)},
		"a bearer token in a header":                {files: pod(`args: ["authorization: Bearer @url"]`)},
		"a literal of a generator":                  {files: build("secretGenerator: [{name: g, literals: [\"k=@word\"]}]", "b.yaml.txt:\n")},
		"a literal that cannot be read":             {files: build("secretGenerator: [{name: g, literals: [\"@word\"]}]", "b.yaml.txt:\n")},
		"a file of a generator":                     {files: build("secretGenerator: [{name: g, files: [k.txt]}]", "k.txt:\n@word")},
		"an env file of a generator":                {files: build("secretGenerator: [{name: g, envs: [k.env]}]", "k.env:\nK=@word")},
		"a broken env file of a generator":          {files: build("secretGenerator: [{name: g, envs: [k.env]}]", "k.env:\n=@word")},
		"a merge patch of a Secret":                 {files: build("resources: [a.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: \"@word\"}}'}]", secret)},
		"a patch of a Secret that is not there":     {files: build("resources: [a.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: z}, stringData: {x: \"@word\"}}'}]", secret)},
		"a JSON patch of a Secret":                  {files: build("resources: [a.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: add, path: /stringData/x, value: \"@word\"}]'}]", secret)},
		"a JSON patch that tests a value":           {files: build("resources: [a.yaml]\npatches: [{target: {kind: Secret}, patch: '[{op: test, path: /stringData/k, value: \"@word-not\"}]'}]", secret)},
		"a replacement from a Secret":               {files: build("resources: [a.yaml, b.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: stringData.k}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k]}]}]", secret+"\n--\nb.yaml:\n"+object("ConfigMap", "data: {k: x}")[len("a.yaml:\n"):])},
		"a replacement into a field that is no map": {files: build("resources: [a.yaml, b.yaml]\nreplacements: [{source: {kind: Secret, fieldPath: stringData.k}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k.l]}]}]", secret+"\n--\nb.yaml:\n"+object("ConfigMap", "data: {k: x}")[len("a.yaml:\n"):])},
		"a file that a kustomization names":         {known: true, files: build("resources: [\"@word.yaml\"]", "c.txt:\n")},
		"an unknown field of a kustomization":       {known: true, files: build("resources: [known.yaml]\n\"@word\": 1", "c.txt:\n")},
		"an unknown field of the configuration":     {known: true, files: "tidelock.yaml:\napiVersion: tidelock.dev/v1alpha1\nkind: Config\n\"@word\": 1"},
	}
}

// forms are what a secret may look like. before and after are its value in the base and in the head.
func forms() map[string][2]string {
	return map[string][2]string{
		"word":    {"old-hunter2-horse", "new-hunter3-staple"},
		"symbols": {`old:p@ss/w0rd+"&=#`, `new:q@tt/x1se+"&=%`},
		"lines":   {"-----first-old\nsecond-old-line\n", "-----first-new\nsecond-new-line\n"},
	}
}

// No byte of a secret shows in what a review says or in why a commit is refused, wherever it stands and whatever is wrong
// beside it.
func TestNoSecretShowsInAReview(t *testing.T) {
	t.Parallel()
	n := 0
	for place, h := range hidings() {
		for form, values := range forms() {
			if form != "word" && strings.Contains(h.files, "@word") {
				continue
			}
			n++
			t.Run(place+"/"+form, func(t *testing.T) {
				t.Parallel()
				base, head := h.version("base", values[0], h.known), h.version("head", values[1], h.known)
				base.Revision = desired.Revision{Ref: "base"}
				head.Revision = desired.Revision{Ref: "head"}
				d, err := Review(t.Context(), base, head, render.Options{MockImage: "a"}, reviewedAt())
				if err != nil {
					checkHidden(t, "error", err.Error(), values)
					return
				}
				for name, write := range map[string]func(*bytes.Buffer) error{
					"text":     func(b *bytes.Buffer) error { return diff.Text(b, d, false) },
					"markdown": func(b *bytes.Buffer) error { return diff.Markdown(b, d) },
					"json":     func(b *bytes.Buffer) error { return diff.JSON(b, d) },
				} {
					var out bytes.Buffer
					if err := write(&out); err != nil {
						t.Fatal(err)
					}
					checkHidden(t, name, out.String(), values)
				}
				state, err := render.Render(t.Context(), head.Revision, head.Tree, render.Options{MockImage: "a"})
				if problems, ok := errors.AsType[desired.Problems](err); ok {
					checkHidden(t, "refusal", problems.Error(), values)
				}
				for _, w := range state.Warnings {
					checkHidden(t, "warning", w.Error(), values)
				}
			})
		}
	}
	if n < 100 {
		t.Errorf("%d inputs, want 100 at least", n)
	}
}

// version is the repository with a value in the place of @.
func (h hiding) version(name, value string, known bool) Version {
	quoted, _ := json.Marshal(value)
	lines := "    " + strings.ReplaceAll(strings.TrimSpace(value), "\n", "\n    ")
	fill := strings.NewReplacer(
		`"@type"`, `"@type"`, "@word", value, "@base64", base64.StdEncoding.EncodeToString([]byte(value)), "@url", url.QueryEscape(value),
		"@hex", hex.EncodeToString([]byte(value)), "@lines", lines, "@db", "@db", "@", string(quoted),
	)
	tree := fstest.MapFS{}
	for part := range strings.SplitSeq(h.files, "\n--\n") {
		file, content, _ := strings.Cut(part, ":\n")
		tree[file] = &fstest.MapFile{Data: []byte(fill.Replace(content) + "\n"), Mode: 0o644}
	}
	if known {
		text := "apiVersion: v1\nkind: Secret\nmetadata: {name: known}\nstringData: {k: " + string(quoted) + "}\n"
		tree["known.yaml"] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return Version{Name: name, Tree: tree}
}

// checkHidden looks for a value as it is and in the forms in which it travels, whole and line by line.
func checkHidden(t *testing.T, where, text string, values [2]string) {
	t.Helper()
	for _, value := range values {
		needles := strings.Split(strings.TrimSpace(value), "\n")
		needles = append(needles, value)
		for _, v := range needles {
			quoted, _ := json.Marshal(v)
			for _, form := range []string{
				v, strings.Trim(string(quoted), `"`), url.QueryEscape(v), url.PathEscape(v), hex.EncodeToString([]byte(v)),
				base64.StdEncoding.EncodeToString([]byte(v)), base64.RawURLEncoding.EncodeToString([]byte(v)),
			} {
				if strings.Contains(text, form) {
					t.Errorf("%s shows %q:\n%s", where, form, text)
					return
				}
			}
		}
	}
}
