package main

import (
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the credential plugins that a kubeconfig may name
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// runKubectl is kubectl as upstream builds it; CheckErr prints the error its way and exits with its code.
func runKubectl() int {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	return 0
}
