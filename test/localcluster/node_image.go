package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/tidelock/tidelock/test/localcluster/internal/image"
)

// pauseImage holds the namespaces of a pod.
const pauseImage = "localcluster/pause:1"

// importImages imports the images that every node has, and those that this one was started with.
func (c controlPlane) importImages(ctx context.Context) error {
	busybox, err := c.node.busybox(ctx)
	if err != nil {
		return err
	}
	pause := image.Image{Name: pauseImage, Binary: busybox.Binary, Entrypoint: []string{"/busybox", "sleep", "infinity"}}
	for _, i := range []image.Image{pause, busybox} {
		if err := load(ctx, i); err != nil {
			return err
		}
	}
	for _, i := range c.node.images {
		if err := c.importImage(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// busybox is the image of that name, with a shell and the usual programs.
func (n *node) busybox(ctx context.Context) (image.Image, error) {
	binary, err := findProgram(n.packages, "busybox")
	if err != nil {
		return image.Image{}, fmt.Errorf("make image busybox: %w", err)
	}
	list, err := exec.CommandContext(ctx, binary, "--list").Output()
	if err != nil {
		return image.Image{}, fmt.Errorf("list the programs in %s: %w", binary, err)
	}
	made := image.Image{Name: "busybox", Binary: binary, Command: []string{"sh"}}
	for program := range strings.FieldsSeq(string(list)) {
		made.Links = append(made.Links, "/bin/"+program)
	}
	return made, nil
}

// importImage makes an image of a program of this machine, by NAME=BINARY, and puts it where the kubelet finds it.
func (c controlPlane) importImage(ctx context.Context, spec string) error {
	if c.node == nil {
		return errors.New("an image needs --node")
	}
	name, binary, ok := strings.Cut(spec, "=")
	if !ok || name == "" || binary == "" {
		return fmt.Errorf("image %q is not of the form NAME=BINARY", spec)
	}
	return load(ctx, image.Image{Name: name, Binary: binary})
}

// load hands an image to the container runtime.
func load(ctx context.Context, i image.Image) error {
	ctr := exec.CommandContext(ctx, "ctr", "--namespace", "k8s.io", "images", "import", "-")
	var out bytes.Buffer
	ctr.Stdout, ctr.Stderr = &out, &out
	stdin, err := ctr.StdinPipe()
	if err != nil {
		return fmt.Errorf("import image %s: %w", i.Name, err)
	}
	if err := ctr.Start(); err != nil {
		return fmt.Errorf("import image %s: %w", i.Name, err)
	}
	written := i.Write(ctx, stdin)
	if err := errors.Join(written, stdin.Close(), ctr.Wait()); err != nil {
		return fmt.Errorf("import image %s: %w: %s", i.Name, err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}
