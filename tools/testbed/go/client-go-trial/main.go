// Command client-go-trial does with client-go what tools for Kubernetes do all day, and counts what it saw:
//
//	informer   shared informers, each by a context of a kubeconfig, while objects are written past them
//	candidate  takes part in the election of a leader by a Lease
//
// Both print one JSON object a line, and end when their standard input does.
//
// Where to begin: informer.go (the trial), writer.go (who writes), record.go (what happened really), seen.go (what an informer
// was told), candidate.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// version is set by the build: that of client-go is v0 of the same minor.
var version = "unknown"

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: informer, candidate or version")
	}
	switch args[0] {
	case "version":
		fmt.Println("client-go-trial v" + version)
		return nil
	case "informer":
		return runInformers(args[1:])
	case "candidate":
		return runCandidate(args[1:])
	default:
		return fmt.Errorf("there is no %s", args[0])
	}
}

// untilInputEnds is a context that ends with standard input: whoever started this is done, or gone.
func untilInputEnds() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx, cancel
}

// configOf reads one context of a kubeconfig.
func configOf(kubeconfig, contextName string) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: contextName}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

func clientOf(kubeconfig, contextName string) (*kubernetes.Clientset, error) {
	config, err := configOf(kubeconfig, contextName)
	if err != nil {
		return nil, err
	}
	// The client's own limit is not what is tried here.
	config.QPS, config.Burst = 500, 500
	return kubernetes.NewForConfig(config)
}

var printing sync.Mutex

// say prints one line for whoever started this.
func say(what any) {
	printing.Lock()
	defer printing.Unlock()
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
