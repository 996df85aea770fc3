package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/tidelock/tidelock/test/localcluster/internal/pki"
)

// The components by the names of their programs.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	runtimeName           = "containerd"
	kubeletName           = "kubelet"
	proxyName             = "kube-proxy"
)

const (
	loopback         = "127.0.0.1"
	serviceRange     = "10.96.0.0/16"
	clientsPerSecond = 200
)

// controlPlane says where a control plane lives; from it follow the command lines of the components.
type controlPlane struct {
	dir     string
	certs   pki.PKI
	noFsync bool

	apiPort  int
	etcdURL  string
	etcdPeer string

	// node is nil where there is none.
	node *node
}

func (c controlPlane) server() string {
	host := loopback
	if c.node != nil {
		host = c.node.Network.Node.String()
	}
	return fmt.Sprintf("https://%s:%d", host, c.apiPort)
}

// kubeconfigPath is where the kubeconfig of a user of ours stands; the admin's is what up reports.
func (c controlPlane) kubeconfigPath(user string) string {
	if user == pki.Admin {
		return filepath.Join(c.dir, "kubeconfig")
	}
	return filepath.Join(c.dir, "pki", user+".kubeconfig")
}

// writeKubeconfigs writes the kubeconfig of each user with its credentials inside, so that it can be copied.
func (c controlPlane) writeKubeconfigs() error {
	ca, err := os.ReadFile(c.certs.Cert(pki.CA))
	if err != nil {
		return fmt.Errorf("read the CA: %w", err)
	}
	for _, user := range []string{pki.Admin, pki.ControllerManager, pki.Scheduler, pki.Kubelet, pki.Proxy} {
		cert, err := os.ReadFile(c.certs.Cert(user))
		if err != nil {
			return fmt.Errorf("read the certificate of %s: %w", user, err)
		}
		key, err := os.ReadFile(c.certs.Key(user))
		if err != nil {
			return fmt.Errorf("read the key of %s: %w", user, err)
		}
		config := api.NewConfig()
		config.Clusters["local"] = &api.Cluster{
			// By name, because a node's address differs from start to start and the certificate does not.
			Server: c.server(), CertificateAuthorityData: ca, TLSServerName: pki.ServerName,
		}
		config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
		config.Contexts["local"] = &api.Context{Cluster: "local", AuthInfo: user}
		config.CurrentContext = "local"
		if err := clientcmd.WriteToFile(*config, c.kubeconfigPath(user)); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
		}
	}
	return nil
}

func (c controlPlane) ready() event {
	e := event{Event: "ready", Kubeconfig: c.kubeconfigPath(pki.Admin), Server: c.server(), Dir: c.dir}
	if c.node != nil {
		e.Host, e.Pods = c.node.Network.Host.String(), c.node.Network.Pods.String()
	}
	return e
}

func (c controlPlane) etcdArgs() []string {
	return []string{
		"--data-dir=" + filepath.Join(c.dir, etcdName),
		"--listen-client-urls=" + c.etcdURL,
		"--advertise-client-urls=" + c.etcdURL,
		"--listen-peer-urls=" + c.etcdPeer,
		"--initial-advertise-peer-urls=" + c.etcdPeer,
		"--initial-cluster=default=" + c.etcdPeer,
		"--log-level=warn",
		"--socket-reuse-port",
		"--unsafe-no-fsync=" + strconv.FormatBool(c.noFsync),
	}
}

func (c controlPlane) apiServerArgs() []string {
	args := []string{
		"--etcd-servers=" + c.etcdURL,
		"--secure-port=" + strconv.Itoa(c.apiPort),
		"--permit-port-sharing",
		"--tls-cert-file=" + c.certs.Cert(pki.APIServer),
		"--tls-private-key-file=" + c.certs.Key(pki.APIServer),
		"--client-ca-file=" + c.certs.Cert(pki.CA),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.certs.Key(pki.ServiceAccounts),
		"--service-account-signing-key-file=" + c.certs.Key(pki.ServiceAccounts),
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--profiling=false",
	}
	if c.node != nil {
		return append(args, c.node.apiServerArgs(c.certs)...)
	}
	return append(args,
		"--bind-address="+loopback,
		"--advertise-address="+loopback,
		// A loopback address is refused as an endpoint of the kubernetes Service.
		"--endpoint-reconciler-type=none",
	)
}

func (c controlPlane) controllerManagerArgs() []string {
	return append(c.clientArgs(pki.ControllerManager),
		"--service-account-private-key-file="+c.certs.Key(pki.ServiceAccounts),
		"--use-service-account-credentials",
		"--root-ca-file="+c.certs.Cert(pki.CA),
		"--cluster-signing-cert-file="+c.certs.Cert(pki.CA),
		"--cluster-signing-key-file="+c.certs.Key(pki.CA),
		"--controller-shutdown-timeout=1s",
	)
}

func (c controlPlane) schedulerArgs() []string {
	return c.clientArgs(pki.Scheduler)
}

// clientArgs is what the controller manager and the scheduler have in common.
func (c controlPlane) clientArgs(user string) []string {
	kubeconfig := c.kubeconfigPath(user)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--kube-api-qps=" + strconv.Itoa(clientsPerSecond),
		"--kube-api-burst=" + strconv.Itoa(2*clientsPerSecond),
	}
}
