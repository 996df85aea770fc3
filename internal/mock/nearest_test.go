package mock

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPathThatIsNotThereIsAnsweredWithWhatWasMeant(t *testing.T) {
	const bases, templates = "server-base-path", "concrete-before-template"
	for path, c := range map[string]struct {
		reason, file string
		want         []string
	}{
		"/event":                        {"without the base path", bases, []string{"/v1/event", "/v2/event", "/v3/event"}},
		"/v1/Event":                     {"another case", bases, []string{"/v1/event", "/v2/event", "/v3/event"}},
		"/v2/evnet":                     {"a slip", bases, []string{"/v2/event", "/v1/event", "/v3/event"}},
		"/internal/admin/":              {"a slash behind it", bases, []string{"/internal/admin"}},
		"/usrs/7":                       {"a slip before a parameter", templates, []string{"/users/{id}", "/users/me"}},
		"/x/y/z":                        {"a parameter alone is like anything", templates, nil},
		"/nothing/like/it":              {"a list of anything helps nobody", bases, nil},
		"/" + strings.Repeat("a/", 100): {"the search is bounded", bases, nil},
	} {
		w := ask(t, handler(t, "testdata/"+c.file+"/openapi.yaml"), "GET "+path, "")
		var p struct {
			Nearest []string `json:"nearest"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusNotFound {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if diff := cmp.Diff(c.want, p.Nearest); diff != "" {
			t.Errorf("%s (%s) (-want +got):\n%s", path, c.reason, diff)
		}
	}
}
