// Command kubelet is a kubelet for tests: it joins a cluster as a node and runs each container of the pods bound to it
// as a process of this machine, chosen by the container's image from a map. There are no images and no isolation. What is
// faithful is what clients of a kubelet see: exec, attach, port-forward and logs are served by the kubelet's own packages
// (k8s.io/kubelet/pkg/cri/streaming, k8s.io/cri-client/pkg/logs), and pods go through the states that a kubelet reports,
// ErrImagePull for an unknown image among them. Probes are made, volumes are folders, a service account's token is asked
// for and replaced, and each pod has a loopback address of its own.
//
// Where to begin: node.go (the node), kubelet.go (which pods), binder.go (which get a node), pod.go (one pod's life),
// container.go (one container's), invocation.go and environment.go (what it is told to run), volumes.go (what it finds),
// probes.go, services.go (what stands in for kube-proxy), process.go (what it runs); server.go is what the API server calls.
//
// It ends on SIGTERM or when its parent ends, and takes its processes with it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// version is set by the build.
var version = "unknown"

// As in a kubelet.
const apiQPS, apiBurst = 50, 100

const parentCheckPeriod = 500 * time.Millisecond

func main() {
	var config config
	flag.StringVar(&config.kubeconfig, "kubeconfig", "", "how to reach the API server, with the right to write nodes and pods")
	flag.StringVar(&config.nodeName, "hostname-override", "", "name of the node")
	flag.StringVar(&config.address, "address", "127.0.0.1", "address to listen on; also that of the node")
	flag.IntVar(&config.port, "port", 10250, "port to listen on")
	flag.StringVar(&config.certFile, "tls-cert-file", "", "serving certificate")
	flag.StringVar(&config.keyFile, "tls-private-key-file", "", "its key")
	flag.StringVar(&config.clientCAFile, "client-ca-file", "", "whoever has a client certificate of this authority may do everything")
	flag.StringVar(&config.imagesFile, "images", "", "JSON file: image -> arguments of the process; read at each pull")
	flag.BoolVar(&config.bindsPods, "bind-pods", false, "take every pod that has no node, as there is no scheduler")
	flag.StringVar(&config.rootDir, "root-dir", "", "folder for logs and working directories of containers")
	flag.BoolVar(&config.servesServices, "serve-services", false, "carry connections to Services with a loopback address, as there is no kube-proxy")
	showVersion := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *showVersion {
		fmt.Println("Kubernetes v" + version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(endWithParent(ctx), config); err != nil {
		klog.ErrorS(err, "The kubelet ends")
		os.Exit(1)
	}
}

func run(ctx context.Context, config config) error {
	if _, err := readImages(config.imagesFile); err != nil {
		return err
	}
	restConfig, err := clientcmd.BuildConfigFromFlags("", config.kubeconfig)
	if err != nil {
		return err
	}
	restConfig.QPS, restConfig.Burst = apiQPS, apiBurst
	if err := config.readServer(restConfig); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return err
	}
	kubelet := newKubelet(config, client)
	stopServing, err := serve(kubelet)
	if err != nil {
		return err
	}
	defer stopServing()
	if err := registerNode(ctx, client, config); err != nil {
		return err
	}
	if config.servesServices {
		kubelet.serveServices(ctx)
	}
	if config.bindsPods {
		go kubelet.bindPods(ctx)
	}
	kubelet.run(ctx)
	return nil
}

// endWithParent is the context that also ends when this process is given another parent: the one that started it is gone.
func endWithParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		for range time.Tick(parentCheckPeriod) {
			if os.Getppid() != parent {
				cancel()
			}
		}
	}()
	return ctx
}
