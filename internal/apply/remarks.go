package apply

import (
	"context"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// remarks are what the API server says beside an answer: a version that will go, pods that a policy would not take. They
// come by the context of a request, since the client has no other way to tell which one they belong to.
type remarks struct{ texts []string }

type remarksKey struct{}

// listen returns a context whose requests leave their remarks.
func listen(ctx context.Context) (context.Context, *remarks) {
	r := &remarks{}
	return context.WithValue(ctx, remarksKey{}, r), r
}

// warned takes the warnings of all requests of a client.
type warned struct{}

// HandleWarningHeaderWithContext takes note of a remark where somebody listens.
func (warned) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	const persistent = 299 // the only code that Kubernetes uses
	r, ok := ctx.Value(remarksKey{}).(*remarks)
	if ok && code == persistent && text != "" && !slices.Contains(r.texts, text) {
		r.texts = append(r.texts, text)
	}
}

// warnings are remarks on an object. What is said of a Secret may quote a value and is left out.
func (r *remarks) warnings(ch Change) []desired.Problem {
	const most = 10
	if isSecret(ch.GroupKind()) {
		return nil
	}
	var out []desired.Problem
	for _, text := range r.texts[:min(most, len(r.texts))] {
		out = append(out, desired.Problem{Origin: ch.Object.Origin, Object: ch.String(), Text: bounded(text)})
	}
	return out
}
