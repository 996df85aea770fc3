package source

import (
	"encoding/hex"
	"strings"
)

// head is the ref that is followed where none is named.
const head = "HEAD"

// candidates returns the full names that ref may stand for, the one that wins first.
func candidates(ref string) []string {
	switch {
	case ref == "" || ref == head:
		return []string{head}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	}
	return []string{"refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref}
}

// isCommit tells whether ref is a full hash.
func isCommit(ref string) bool {
	const digits = 40
	_, err := hex.DecodeString(ref)
	return len(ref) == digits && err == nil
}

// shortRef returns main for refs/heads/main, as people write it.
func shortRef(name string) string {
	name = strings.TrimPrefix(name, "refs/heads/")
	return strings.TrimPrefix(name, "refs/tags/")
}
