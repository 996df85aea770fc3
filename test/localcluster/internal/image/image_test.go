package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNamesAreCompletedAsRuntimesDo(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"busybox":              "docker.io/library/busybox:latest",
		"busybox:1.35":         "docker.io/library/busybox:1.35",
		"team/app":             "docker.io/team/app:latest",
		"localhost/app":        "localhost/app:latest",
		"localhost:5000/app":   "localhost:5000/app:latest",
		"example.com/team/a:2": "example.com/team/a:2",
	} {
		if got := FullName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestArchiveLeadsFromTheNameToTheBinary(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "app")
	if err := os.WriteFile(binary, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	var archive, again bytes.Buffer
	made := Image{Name: "app", Binary: binary, Links: []string{"/bin/sh"}}
	if err := errors.Join(made.Write(t.Context(), &archive), made.Write(t.Context(), &again)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Error("the same image is other bytes the second time")
	}
	files := unpack(t, archive.Bytes())

	var top index
	decode(t, files["index.json"], &top)
	if name := top.Manifests[0].Annotations["io.containerd.image.name"]; name != "docker.io/library/app:latest" {
		t.Errorf("the image is called %q", name)
	}
	var m manifest
	decode(t, content(t, files, top.Manifests[0]), &m)
	var config imageConfig
	decode(t, content(t, files, m.Config), &config)
	if got := config.Config.Entrypoint; len(got) != 1 || got[0] != "/app" {
		t.Errorf("a container runs %q", got)
	}
	layer := content(t, files, m.Layers[0])
	if got := digest(layer); got != config.RootFS.DiffIDs[0] {
		t.Errorf("the configuration speaks of layer %s, there is %s", config.RootFS.DiffIDs[0], got)
	}
	system := unpack(t, layer)
	if string(system["app"]) != "a program" || string(system["bin/sh"]) != "-> /app" {
		t.Errorf("the file system holds %q", system)
	}
}

// A program that is linked with shared libraries runs from its image: they are at their places, and so is their loader.
func TestAProgramHasItsLibrariesBesideIt(t *testing.T) {
	t.Parallel()
	made := Image{Name: "sh", Binary: "/bin/sh"}
	layer, err := made.layer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, data := range unpack(t, layer) {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	needed, err := libraries(t.Context(), made.Binary)
	if err != nil || len(needed) < 2 {
		t.Fatalf("the shell needs %v, %v", needed, err)
	}
	folders := map[string]bool{}
	for _, library := range needed[1:] {
		folders[filepath.Join(root, filepath.Dir(library))] = true
	}
	// The loader of the image finds all in the image's own folders.
	run := exec.CommandContext(t.Context(), filepath.Join(root, needed[0]), "--inhibit-cache", "--library-path",
		strings.Join(slices.Sorted(maps.Keys(folders)), ":"), filepath.Join(root, "sh"), "-c", "echo fine")
	if out, err := run.CombinedOutput(); err != nil || string(out) != "fine\n" {
		t.Errorf("the shell prints %q, %v", out, err)
	}
}

// content returns the blob that a descriptor speaks of.
func content(t *testing.T, files map[string][]byte, d descriptor) []byte {
	t.Helper()
	for name, data := range files {
		if name == blob(data) && digest(data) == d.Digest && len(data) == d.Size {
			return data
		}
	}
	t.Fatalf("no blob %s of %d bytes", d.Digest, d.Size)
	return nil
}

func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			data = []byte("-> " + h.Linkname)
		}
		files[h.Name] = data
	}
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
