package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxEvent bounds the body of a push event, in bytes. GitHub's own limit is 25 MB, which only events with thousands of
// commits come near; those are seen at the next poll.
const maxEvent = 1 << 20

// Webhook returns a handler that takes push events of GitHub, Gitea and Forgejo, and makes Run look when the ref that is
// followed was pushed. An event must be signed with the secret (X-Hub-Signature-256, over the bytes as sent); without a
// secret there is no handler. It answers 202 to every signed event, 401 to others, 413 to a body over 1 MiB.
func (s *Source) Webhook(secret []byte) (http.Handler, error) {
	if len(secret) == 0 {
		return nil, errors.New("webhook: a secret is needed, else anyone could make this machine work")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "push events are posted", http.StatusMethodNotAllowed)
			return
		}
		if r.ContentLength > maxEvent {
			http.Error(w, "the event is too large", http.StatusRequestEntityTooLarge)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, "the event is too large", http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil || !signed(secret, body, r.Header.Get("X-Hub-Signature-256")) {
			http.Error(w, "the event is not signed with this webhook's secret", http.StatusUnauthorized)
			return
		}
		s.event(w, r.Header.Get("X-GitHub-Event"), body)
	}), nil
}

// signed compares in constant time.
func signed(secret, body []byte, header string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(header, "sha256="))
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(body)
	return err == nil && strings.HasPrefix(header, "sha256=") && hmac.Equal(sum, mac.Sum(nil))
}

func (s *Source) event(w http.ResponseWriter, kind string, body []byte) {
	var push struct {
		Ref string `json:"ref"`
	}
	if err := json.Unmarshal(body, &push); err != nil {
		http.Error(w, "the event is no JSON object: choose the content type application/json", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if (kind == "" || kind == "push") && s.follows(push.Ref) {
		s.Notify()
	}
}

// follows tells whether a ref by its full name is the one that is followed; where it is not known yet which of several
// that is, whether it may be.
func (s *Source) follows(ref string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isCommit(s.cfg.Ref):
		return false
	case s.err == nil && s.state != nil && s.state.full != "":
		return ref == s.state.full
	case s.cfg.Ref == "" || s.cfg.Ref == head:
		return strings.HasPrefix(ref, "refs/heads/")
	}
	return slices.Contains(candidates(s.cfg.Ref), ref)
}
