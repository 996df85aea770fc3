// Package diff says what one commit changes, to the person who reviews it. In go two States and the plan that leads from one
// to the other; out comes a Diff, which is a value, and from that text, Markdown or JSON.
//
// Nothing here talks to anything. What is secret is taken out of a Diff before it is returned, so that no writer can show it.
package diff
