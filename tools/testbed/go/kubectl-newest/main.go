// Command kubectl is upstream's command, of another minor version than the cluster's: k8s.io/kubernetes/cmd/kubectl is no more than this.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		// Prints it, and ends with the exit code of a command in a pod.
		util.CheckErr(err)
	}
}
