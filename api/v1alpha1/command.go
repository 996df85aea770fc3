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
		return fmt.Errorf("%w: close the quote, or write the command as a list", err)
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
