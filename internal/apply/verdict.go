package apply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/internal/desired"
)

// isDefinite says that the server's answer is about the content: the same request will get the same answer.
func isDefinite(err error) bool {
	switch {
	case meta.IsNoMatchError(err), isTypeMismatch(err):
		return true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), strings.Contains(words(err), "exceeded quota"):
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsUnsupportedMediaType(err)
}

// answer is an error of the server in words that may be shown.
type answer struct {
	text string
	err  error
}

// Error returns the words that may be shown.
func (a answer) Error() string { return a.text }

// Unwrap returns the server's own error, to decide by.
func (a answer) Unwrap() error { return a.err }

// guard makes the server's answer fit to be shown: what it says of a Secret may quote a value and is withheld, and a
// refused pod template would be pages.
func guard(gk schema.GroupKind, err error) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	if isSecret(gk) {
		return answer{err: err, text: fmt.Sprintf("%s refuses it (%s); its words are withheld, as they may quote a secret value",
			refuserIn(s.Message), cmp.Or(string(s.Reason), "Unknown"))}
	}
	var texts []string
	for _, cause := range causesOf(s) {
		text := causeText(cause)
		if cause.Field != "" {
			text = cause.Field + ": " + text
		}
		texts = append(texts, text)
	}
	return answer{err: err, text: bounded(strings.Join(texts, "; "))}
}

// words returns what the server said, to decide by. They are not to be shown.
func words(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return ""
}

// isTypeMismatch says that server-side apply could not read the content by the kind's schema. The server calls that an
// internal error.
func isTypeMismatch(err error) bool {
	return apierrors.IsInternalError(err) && (strings.Contains(words(err), noTypedObject) ||
		strings.Contains(words(err), "unable to convert unstructured object"))
}

// isNoDryRun says that a webhook cannot be asked without effects.
func isNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(words(err), "does not support dry run")
}

// isConflict says that the object is not the one that was seen any more, or that another manager has its fields.
func isConflict(err error) bool { return apierrors.IsConflict(err) }

// isImmutable says that the server refuses the change, and not the content as such. It has no code for that; the words
// are those of Kubernetes' own validation.
func isImmutable(err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	said := words(err)
	return slices.ContainsFunc([]string{
		"immutable", "may not change", "may not be changed", "cannot be changed", "cannot change",
		"may not be updated", "updates to ", "pod updates ",
		"oldSelf", // a rule of a definition that has no words of its own
	}, func(w string) bool { return strings.Contains(said, w) })
}

// problemsOf turns an answer of the server into problems with field paths. What the server says of a Secret is not
// repeated: it may quote a value.
func problemsOf(ch Change, err error) []desired.Problem {
	base := desired.Problem{Origin: ch.Object.Origin, Object: ch.String(), Text: short(err)}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return []desired.Problem{base}
	}
	secret := isSecret(ch.GroupKind())
	var out []desired.Problem
	for _, cause := range causesOf(status.Status()) {
		p := base
		p.Field = cause.Field
		if !secret {
			p.Text = causeText(cause)
		}
		out = append(out, p)
	}
	return out
}

// short returns an error's message, bounded.
func short(err error) string { return bounded(err.Error()) }

func bounded(s string) string {
	const most = 600
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
