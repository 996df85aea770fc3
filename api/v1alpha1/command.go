package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"

	shellquote "github.com/kballard/go-shellquote"
)

// Command is a program and its arguments. In YAML it is a list, or a string that is split as a POSIX shell splits words
// (quotes and backslashes are honoured, nothing is expanded).
//
// +kubebuilder:object:generate=false
type Command []string

// UnmarshalJSON reads a list of strings or one string; an open quote is an error.
func (c *Command) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err == nil {
		*c = list
		return nil
	}
	var line string
	if err := json.Unmarshal(b, &line); err != nil {
		return errors.New("want a string or a list of strings")
	}
	words, err := shellquote.Split(line)
	if err != nil {
		if quote := openQuote(line); quote > 0 {
			return fmt.Errorf("the quote at character %d is not closed: close it, or write the command as a list", quote)
		}
		return fmt.Errorf("%w: write the command as a list", err)
	}
	*c = words
	return nil
}

// DeepCopy returns a copy that shares nothing with c.
func (c Command) DeepCopy() Command {
	if c == nil {
		return nil
	}
	return append(Command{}, c...)
}

// DeepCopyInto copies c into out.
func (c *Command) DeepCopyInto(out *Command) {
	*out = c.DeepCopy()
}

// openQuote returns the position, from 1, of a quote that is not closed; 0 where there is none.
func openQuote(line string) int {
	var quote rune
	escaped, opened, position := false, 0, 0
	for _, r := range line {
		position++
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote, opened = r, position
		case r == quote:
			quote, opened = 0, 0
		}
	}
	return opened
}
