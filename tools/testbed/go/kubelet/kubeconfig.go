package main

import (
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// writeKubeconfig writes one that reads the service account's token anew whenever it is replaced.
func writeKubeconfig(path string, config config, accountDir string) error {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["cluster"] = &clientcmdapi.Cluster{
		Server:               "https://" + net.JoinHostPort(config.apiHost, config.apiPort),
		CertificateAuthority: filepath.Join(accountDir, "ca.crt"),
	}
	kubeconfig.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(accountDir, "token")}
	namespace, err := os.ReadFile(filepath.Join(accountDir, "namespace"))
	if err != nil {
		return err
	}
	kubeconfig.Contexts["pod"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "pod", Namespace: string(namespace)}
	kubeconfig.CurrentContext = "pod"
	return clientcmd.WriteToFile(*kubeconfig, path)
}
