package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidelock/tidelock/internal/apply"
)

// clusterFlags say which cluster, and as which instance.
type clusterFlags struct {
	name       string
	namespace  string
	kubeconfig string
	context    string
}

func (f *clusterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "tidelock", "name of the instance: of its Sync, its Lease and its inventory")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the instance (default: the kubeconfig's, or the pod's own)")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, ~/.kube/config, or the pod's own account)")
	cmd.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// load returns how the API server is reached, and fills the namespace in.
func (f *clusterFlags) load() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	cc := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	cfg, err := cc.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if f.namespace == "" {
		if f.namespace, _, err = cc.Namespace(); err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	cfg.UserAgent = "tidelock/" + version()
	return cfg, nil
}

// applyConfig is what both apply and destroy start from.
func (f *clusterFlags) applyConfig() (apply.Config, error) {
	cfg, err := f.load()
	return apply.Config{REST: cfg, Owner: f.name, Namespace: f.namespace}, err
}
