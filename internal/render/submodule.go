package render

import (
	"strings"
)

const readNoSubmodule = "lies in a submodule, which is not read: copy the files into the repository"

// inSubmodule reports whether .gitmodules gives name, or a folder above, to another repository.
func (t *tree) inSubmodule(name string) bool {
	data, err := t.ReadFile(".gitmodules")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		key, folder, _ := strings.Cut(line, "=")
		folder = strings.TrimSpace(folder)
		if strings.TrimSpace(key) == "path" && folder != "" && (name == folder || strings.HasPrefix(name, folder+"/")) {
			return true
		}
	}
	return false
}
