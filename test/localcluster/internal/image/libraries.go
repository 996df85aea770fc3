package image

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// libraries returns the paths of what a program is loaded with on this machine: the loader itself and shared libraries. A
// static program, or a script, has none.
func libraries(ctx context.Context, binary string) (_ []string, err error) {
	f, err := elf.Open(binary)
	if _, other := errors.AsType[*elf.FormatError](err); other || errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read program %s: %w", binary, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	loader, err := interpreter(f)
	if err != nil || loader == "" {
		return nil, err
	}
	list := exec.CommandContext(ctx, loader, "--list", binary)
	// The machine's own libraries, whatever path others are found on.
	list.Env = []string{}
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s: %w", binary, err)
	}
	found := []string{loader}
	for line := range strings.Lines(string(out)) {
		// Such as "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)"; what has no path is the kernel's, or the loader.
		_, target, ok := strings.Cut(line, " => ")
		if !ok {
			continue
		}
		path, _, ok := strings.Cut(target, " (")
		if !ok || !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("list the libraries of %s: %s", binary, strings.TrimSpace(line))
		}
		if path != loader {
			found = append(found, path)
		}
	}
	return found, nil
}

// interpreter returns the path of the loader that a program asks for, or nothing.
func interpreter(f *elf.File) (string, error) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			path := make([]byte, p.Filesz)
			_, err := p.ReadAt(path, 0)
			return strings.TrimRight(string(path), "\x00"), err
		}
	}
	return "", nil
}
