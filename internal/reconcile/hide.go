package reconcile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

// veiled is for how many commits back the values of Secrets are hidden: the API server's answers may quote what is live,
// which is older than what is declared.
const veiled = 8

// veil hides the values of the Secrets of the last commits that were looked at.
type veil struct {
	recent [][]string
	hidden *redact.Redactor
}

// learn adds the values of a commit, and forgets those of a commit long ago.
func (v *veil) learn(values []string) {
	if len(values) == 0 || slices.ContainsFunc(v.recent, func(known []string) bool { return slices.Equal(known, values) }) {
		return
	}
	v.recent = append(v.recent, values)
	if n := len(v.recent) - veiled; n > 0 {
		v.recent = slices.Delete(v.recent, 0, n)
	}
	v.hidden = redact.New(slices.Concat(v.recent...)...)
}

// hide returns text without what is secret. All that leaves the loop goes through it.
func (l *Loop) hide(text string) string { return l.veil.hidden.String(text) }

// secretValues are the values of the Secrets that a commit declares, as they stand in the manifests: base64.
func secretValues(objects []desired.Object) []string {
	var out []string
	for i := range objects {
		if o := &objects[i]; o.Kind == "Secret" && o.Group == "" {
			data, _, _ := unstructured.NestedStringMap(o.Content.Object, "data")
			out = append(out, slices.Sorted(maps.Values(data))...)
		}
	}
	return out
}
