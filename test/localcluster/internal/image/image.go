// Package image makes container images without a registry: a program of this machine goes in, with the shared libraries that
// it needs; an archive of the Open Container Initiative's image layout (github.com/opencontainers/image-spec) comes out, which
// a container runtime imports.
package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
)

// Image is a file system of one program.
type Image struct {
	// Name is what pods call it, such as busybox or team/app:v1.
	Name string
	// Binary is the path of the program, which stands in the root folder of the image under its own name, and on PATH.
	Binary string
	// Entrypoint is what a container runs before its arguments; the binary where there is no command either.
	Entrypoint []string
	// Command are the arguments where a pod names none.
	Command []string
	// Links are paths in the image that lead to the binary.
	Links []string
}

// FullName completes a name as container runtimes do before they look it up.
func FullName(name string) string {
	host, _, found := strings.Cut(name, "/")
	switch {
	case !found:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		name = "docker.io/" + name
	}
	if !strings.Contains(path.Base(name), ":") {
		name += ":latest"
	}
	return name
}

// Write writes the archive.
func (i Image) Write(ctx context.Context, w io.Writer) error {
	layer, err := i.layer(ctx)
	if err != nil {
		return fmt.Errorf("make image %s: %w", i.Name, err)
	}
	entrypoint := i.Entrypoint
	if len(entrypoint) == 0 && len(i.Command) == 0 {
		entrypoint = []string{"/" + path.Base(i.Binary)}
	}
	config, err := json.Marshal(imageConfig{
		Architecture: runtime.GOARCH, OS: "linux",
		Config: containerConfig{
			Entrypoint: entrypoint, Cmd: i.Command, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/"}, WorkingDir: "/",
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{digest(layer)}},
	})
	if err != nil {
		return fmt.Errorf("make image %s: %w", i.Name, err)
	}
	manifest, err := json.Marshal(manifest{
		SchemaVersion: schemaVersion, MediaType: manifestType,
		Config: describe(configType, config), Layers: []descriptor{describe(layerType, layer)},
	})
	if err != nil {
		return fmt.Errorf("make image %s: %w", i.Name, err)
	}
	of := describe(manifestType, manifest)
	of.Annotations = map[string]string{"io.containerd.image.name": FullName(i.Name)}
	index, err := json.Marshal(index{SchemaVersion: schemaVersion, MediaType: indexType, Manifests: []descriptor{of}})
	if err != nil {
		return fmt.Errorf("make image %s: %w", i.Name, err)
	}
	archive := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", index},
		{blob(layer), layer},
		{blob(config), config},
		{blob(manifest), manifest},
	} {
		if err := add(archive, tar.Header{Name: f.name, Mode: 0o644}, f.data); err != nil {
			return fmt.Errorf("write image %s: %w", i.Name, err)
		}
	}
	return archive.Close()
}

// layer is the file system as a tar archive.
func (i Image) layer(ctx context.Context) ([]byte, error) {
	program, err := os.ReadFile(i.Binary)
	if err != nil {
		return nil, err
	}
	needed, err := libraries(ctx, i.Binary)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(len(program) + 1<<20)
	archive := tar.NewWriter(&b)
	name := path.Base(i.Binary)
	entries := []struct {
		header tar.Header
		data   []byte
	}{
		{header: tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}},
		{header: tar.Header{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755}},
		{header: tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}},
		{header: tar.Header{Name: "etc/passwd", Mode: 0o644}, data: []byte("root:x:0:0:root:/:/bin/sh\n")},
		{header: tar.Header{Name: name, Mode: 0o755}, data: program},
	}
	for _, e := range entries {
		if err := add(archive, e.header, e.data); err != nil {
			return nil, err
		}
	}
	for _, library := range needed {
		data, err := os.ReadFile(library)
		if err != nil {
			return nil, err
		}
		if err := add(archive, tar.Header{Name: strings.TrimPrefix(library, "/"), Mode: 0o755}, data); err != nil {
			return nil, err
		}
	}
	for _, link := range i.Links {
		h := tar.Header{Name: strings.TrimPrefix(link, "/"), Typeflag: tar.TypeSymlink, Linkname: "/" + name, Mode: 0o777}
		if err := add(archive, h, nil); err != nil {
			return nil, err
		}
	}
	err = archive.Close()
	return b.Bytes(), err
}

// add adds a file without an owner or a time, so that equal images are equal bytes.
func add(archive *tar.Writer, h tar.Header, data []byte) error {
	h.Size = int64(len(data))
	if err := archive.WriteHeader(&h); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blob(data []byte) string { return "blobs/" + strings.Replace(digest(data), ":", "/", 1) }

func describe(mediaType string, data []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: digest(data), Size: len(data)}
}
