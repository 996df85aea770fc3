package desired

import (
	"fmt"
	"time"
)

// Revision is one state of the repository.
type Revision struct {
	// Commit is the full hash of the commit, never of a tag object; for a folder without git "sha256:" and the digest of
	// its content.
	Commit string
	// Ref is what was followed to it, as the user gave it (main, v1.2, refs/heads/env/eu1).
	Ref string
	// Repository is where it comes from, without credentials.
	Repository string
	// Subject is the first line of the commit's message.
	Subject string
	// Author is the name of the commit's author.
	Author string
	// Time of the commit.
	Time time.Time
}

// Short returns the first seven digits of the commit, as people write it.
func (r Revision) Short() string {
	const digits, prefix = 7, "sha256:"
	c := r.Commit
	if len(c) > len(prefix) && c[:len(prefix)] == prefix {
		c = c[len(prefix):]
	}
	return c[:min(digits, len(c))]
}

// String returns "main@1a2b3c4".
func (r Revision) String() string {
	return fmt.Sprintf("%s@%s", r.Ref, r.Short())
}
