package source

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the checksum that git writes at the end of its packs
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mend removes what a crash or a full disk left in a store: temporary files, packs or indexes whose checksum is wrong or
// whose other half is missing, and empty refs. It tells whether objects were lost, which are to be fetched again then. The
// lock is held.
func mend(store string) (lost bool, err error) {
	dir := filepath.Join(store, "objects", "pack")
	files, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("list packs: %w", err)
	}
	good := map[string]int{}
	for _, f := range files {
		stem, ok := packStem(f.Name())
		if !ok {
			continue
		}
		if whole, err := checksummed(filepath.Join(dir, f.Name())); err != nil {
			return false, err
		} else if whole {
			good[stem]++
		}
	}
	var errs []error
	for _, f := range files {
		if stem, ok := packStem(f.Name()); !ok || good[stem] < halves {
			errs = append(errs, os.Remove(filepath.Join(dir, f.Name())))
			lost = lost || ok
		}
	}
	errs = append(errs, filepath.WalkDir(filepath.Join(store, "refs"), removeEmpty))
	return lost, errors.Join(errs...)
}

// halves is how many files make one pack: the pack and its index.
const halves = 2

// removeEmpty removes refs that a power failure left without content.
func removeEmpty(name string, d fs.DirEntry, err error) error {
	if err != nil || d.IsDir() {
		return err
	}
	info, err := d.Info()
	if err != nil || info.Size() > 0 {
		return err
	}
	return os.Remove(name) //nolint:gosec // a folder of ours alone
}

// packStem returns the name that a pack and its index share.
func packStem(name string) (string, bool) {
	stem, ok := strings.CutSuffix(name, ".pack")
	if !ok {
		stem, ok = strings.CutSuffix(name, ".idx")
	}
	return stem, ok && strings.HasPrefix(name, "pack-")
}

// checksummed tells whether a file ends in the SHA-1 of all that stands before.
func checksummed(name string) (_ bool, err error) {
	f, err := os.Open(name) //nolint:gosec // a file of our own store
	if err != nil {
		return false, fmt.Errorf("check a pack: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil || st.Size() < sha1.Size {
		return false, err
	}
	h := sha1.New() //nolint:gosec // as above
	if _, err := io.CopyN(h, f, st.Size()-sha1.Size); err != nil {
		return false, fmt.Errorf("check a pack: %w", err)
	}
	sum := make([]byte, sha1.Size)
	if _, err := io.ReadFull(f, sum); err != nil {
		return false, fmt.Errorf("check a pack: %w", err)
	}
	return bytes.Equal(sum, h.Sum(nil)), nil
}
