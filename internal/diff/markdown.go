package diff

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// commentLimit is what a comment on GitHub may hold, in characters; GitLab and Gitea take more.
	commentLimit = 65536
	// partLimit is how much of it one part may take, so that one does not push the others out. Objects take what is left.
	partLimit = 10000
	// footRoom is kept for what closes a part.
	footRoom = 300
	// foldFrom is how many lines a part has that is folded.
	foldFrom = 12
)

// Marker is the first line of a comment: what updates the comment of before finds it by.
const Marker = "<!-- tidelock diff -->"

// Markdown writes d as one comment on a pull request. All that comes from the repository stands in code blocks, whose fences
// it cannot end, so that it brings in no markup, no link and no mention.
func Markdown(w io.Writer, d Diff) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n### Tidelock: %s\n\n%s\n", Marker, Summary(d), compared2(d))
	all := sections(d)
	left := commentLimit - utf8.RuneCountInString(b.String())
	objects := 0 // room for the objects is what the others leave
	parts := make([]string, len(all))
	for i, s := range all {
		if s.title == "Objects" {
			objects = i
			continue
		}
		parts[i] = block(s, min(partLimit, left))
		left -= utf8.RuneCountInString(parts[i])
	}
	if len(all) > 0 && parts[objects] == "" {
		parts[objects] = block(all[objects], left)
	}
	for _, p := range parts {
		b.WriteString(p)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the difference as Markdown: %w", err)
	}
	return nil
}

func compared2(d Diff) string {
	out := span(d.Base.Name) + " → " + span(d.Head.Name)
	if d.Path != "." && d.Path != "" {
		out += " in " + span(d.Path)
	}
	return out
}

// span is a text as code in a line.
func span(s string) string {
	s = strings.ReplaceAll(clip(clean(s), shortValue), "`", "'")
	return "`" + s + "`"
}

// block is a part with a heading, of at most so many characters; what does not fit is counted.
func block(s section, room int) string {
	body, left := fit(s, room-footRoom)
	fence := strings.Repeat("`", max(3, longestRun(body, '`')+1)) //nolint:mnd // a fence has three at least
	head := "**" + s.title + "**"
	if s.note != "" {
		head += " (" + escape(s.note) + ")"
	}
	foot := ""
	if left > 0 {
		foot = fmt.Sprintf("\n… and %s, left out here.\n", plural(left, "more "+s.noun))
	}
	code := fence + "diff\n" + body + fence + "\n" + foot
	if strings.Count(body, "\n") < foldFrom {
		return "\n" + head + "\n" + code
	}
	head = strings.Replace(head, "**"+s.title+"**", "<b>"+s.title+"</b>", 1)
	return "\n<details><summary>" + head + "</summary>\n\n" + code + "\n</details>\n"
}

// fit returns the items that there is room for, and how many there is none for. An item that is too large by itself is cut.
func fit(s section, room int) (body string, left int) {
	var b strings.Builder
	used := 0
	for i, item := range s.items {
		var text strings.Builder
		for _, l := range item {
			text.WriteString(marked(l) + "\n")
		}
		n := utf8.RuneCountInString(text.String())
		if used+n <= room {
			b.WriteString(text.String())
			used += n
			continue
		}
		if i == 0 {
			b.WriteString(firstLines(text.String(), room))
			i++
		}
		return b.String(), len(s.items) - i
	}
	return b.String(), 0
}

// firstLines returns as many lines of a text as there is room for.
func firstLines(text string, room int) string {
	const note = "  … cut here\n"
	var b strings.Builder
	used := utf8.RuneCountInString(note)
	for l := range strings.Lines(text) {
		n := utf8.RuneCountInString(l)
		if used+n > room {
			break
		}
		b.WriteString(l)
		used += n
	}
	return b.String() + note
}

func longestRun(s string, of rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r == of {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// escape makes a text of ours safe in a heading: numbers and words, which hold nothing else.
func escape(s string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "`", "'", "@", "@\u200b").Replace(s)
}
