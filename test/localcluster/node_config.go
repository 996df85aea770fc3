package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
)

// The files that configure a node's parts. All that a part writes goes where it goes by default: inside a sandbox these
// folders are its own.
const (
	runtimeConfig = "containerd.toml"
	networkConfig = "cni/pods.conflist"
	kubeletConfig = "kubelet.yaml"
	proxyConfig   = "kube-proxy.yaml"
)

// The plugins that are not there would look for programs and file systems that nobody needs; opt would write to /opt.
const runtimeTemplate = `version = 2
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.restart", "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  # Nobody gives us the right to lower it.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{cni}"
`

// Each pod has a link of its own to the node, which routes between them: all of it passes where kube-proxy rewrites.
const networkTemplate = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "ptp",
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "{pods}"}]], "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
`

const kubeletTemplate = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /{cgroup}
enforceNodeAllocatable: [none]
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
maxPods: 200
# There is no cluster DNS, and a pod must not ask the machine's.
resolvConf: ""
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: {ca}}
authorization: {mode: Webhook}
nodeStatusUpdateFrequency: 5s
`

const proxyTemplate = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: {kubeconfig}}
hostnameOverride: {node}
clusterCIDR: {pods}
# Its tables are those of the machine, whose limits are not ours to set.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

// configureNode writes the configuration of a node's parts.
func (c controlPlane) configureNode() error {
	n := c.node
	fill := strings.NewReplacer(
		"{pause}", pauseImage, "{plugins}", n.cniPlugins(), "{cni}", filepath.Dir(n.file(networkConfig)),
		"{pods}", n.Network.Pods.String(), "{cgroup}", n.Cgroup, "{node}", pki.NodeName,
		"{ca}", c.certs.Cert(pki.CA), "{kubeconfig}", c.kubeconfigPath(pki.Proxy),
	)
	for name, text := range map[string]string{
		runtimeConfig: runtimeTemplate, networkConfig: networkTemplate, kubeletConfig: kubeletTemplate, proxyConfig: proxyTemplate,
	} {
		if err := os.MkdirAll(filepath.Dir(n.file(name)), 0o700); err != nil {
			return fmt.Errorf("make a folder for the node: %w", err)
		}
		if err := os.WriteFile(n.file(name), []byte(fill.Replace(text)), 0o600); err != nil {
			return fmt.Errorf("configure the node: %w", err)
		}
	}
	return nil
}
