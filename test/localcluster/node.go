package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
	"github.com/tidelock/tidelock/test/localcluster/internal/sandbox"
)

// insideName is the command, and the flag, of our own processes inside a node's sandbox.
const insideName = "inside"

// node says where a node lives.
type node struct {
	Network sandbox.Network `json:"network"`
	Cgroup  string          `json:"cgroup"`

	packages string
	images   []string
	dir      string
}

// upOutside opens a sandbox and runs up with the same arguments inside.
func upOutside(ctx context.Context, args []string, opts options, dir string) (err error) {
	if err := checkPackages(opts.packages); err != nil {
		return err
	}
	temporary := ""
	if opts.dir == "" {
		temporary = dir
	}
	box, err := sandbox.Open(ctx, temporary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close(context.WithoutCancel(ctx))) }()
	where, err := json.Marshal(node{Network: box.Network, Cgroup: box.Cgroup})
	if err != nil {
		return fmt.Errorf("encode where the node lives: %w", err)
	}
	own := append([]string{insideName, string(where)}, args...)
	return box.Run(ctx, append(own, "--dir", dir, "--"+insideName, string(where))...)
}

// inside is the first process of a sandbox; the next one is up.
func inside(args []string) (int, error) {
	if len(args) == 0 {
		return 2, errUsage
	}
	var where node
	if err := json.Unmarshal([]byte(args[0]), &where); err != nil {
		return 2, fmt.Errorf("read where the node lives: %w", err)
	}
	return sandbox.Enter(where.Network, append([]string{"up"}, args[1:]...)...)
}

// newNode returns the node that this process is to run, or nil.
func newNode(opts options, dir string) (*node, error) {
	if opts.inside == "" {
		return nil, nil //nolint:nilnil // no node is no error
	}
	n := &node{packages: opts.packages, images: opts.images, dir: filepath.Join(dir, "node")}
	if err := json.Unmarshal([]byte(opts.inside), n); err != nil {
		return nil, fmt.Errorf("read where the node lives: %w", err)
	}
	return n, usePackages(opts.packages)
}

// defaultPackages is where tools/node.sh unpacks them, seen from where tools/cluster.sh puts our binary.
func defaultPackages() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(self), "..", "node")
}

// checkPackages says what to do where a node's programs are missing.
func checkPackages(dir string) error {
	for _, program := range []string{runtimeName, "ctr", "runc", "nft"} {
		if _, err := findProgram(dir, program); err != nil {
			return fmt.Errorf("a node needs the program %s, which is neither in %s nor on PATH: run make node", program, dir)
		}
	}
	return nil
}

func findProgram(packages, name string) (string, error) {
	for _, sub := range []string{"usr/bin", "usr/sbin", "bin", "sbin"} {
		path := filepath.Join(packages, sub, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return exec.LookPath(name)
}

// usePackages lets this process and its children find the programs and libraries of unpacked packages, which lie beside
// those of the machine and complete them.
func usePackages(dir string) error {
	libraries, err := filepath.Glob(filepath.Join(dir, "usr/lib/*-linux-gnu"))
	if err != nil {
		return fmt.Errorf("find the libraries of the packages in %s: %w", dir, err)
	}
	var programs []string
	for _, sub := range []string{"usr/sbin", "usr/bin", "sbin", "bin"} {
		programs = append(programs, filepath.Join(dir, sub))
	}
	programs = append(programs, os.Getenv("PATH"), "/usr/sbin", "/sbin")
	return errors.Join(
		os.Setenv("PATH", strings.Join(programs, ":")),
		os.Setenv("LD_LIBRARY_PATH", strings.Join(libraries, ":")),
	)
}

// cniPlugins is the folder of the plugins that give pods their network.
func (n *node) cniPlugins() string {
	unpacked := filepath.Join(n.packages, "usr/lib/cni")
	if _, err := os.Stat(unpacked); err == nil {
		return unpacked
	}
	return "/usr/lib/cni"
}

func (n *node) apiServerArgs(certs pki.PKI) []string {
	return []string{
		"--bind-address=0.0.0.0",
		"--advertise-address=" + n.Network.Node.String(),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=" + certs.Cert(pki.Admin),
		"--kubelet-client-key=" + certs.Key(pki.Admin),
		"--allow-privileged",
	}
}

func (c controlPlane) runtimeCommandLine() []string {
	return []string{runtimeName, "--config", c.node.file(runtimeConfig)}
}

func (c controlPlane) kubeletArgs() []string {
	return []string{
		"--config=" + c.node.file(kubeletConfig),
		"--kubeconfig=" + c.kubeconfigPath(pki.Kubelet),
		"--hostname-override=" + pki.NodeName,
		"--node-ip=" + c.node.Network.Node.String(),
	}
}

func (c controlPlane) proxyArgs() []string {
	return []string{"--config=" + c.node.file(proxyConfig)}
}
