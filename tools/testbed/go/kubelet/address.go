package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"

	v1 "k8s.io/api/core/v1"
)

// addressOf gives each pod a loopback address of its own, so that the ports of two pods never collide; it keeps it when
// the kubelet starts anew. Only Linux answers on all of 127.0.0.0/8: elsewhere, and in the host's network, a pod has the
// node's address.
func (k *kubelet) addressOf(object *v1.Pod) string {
	if runtime.GOOS != "linux" || object.Spec.HostNetwork {
		return k.config.address
	}
	if had := net.ParseIP(object.Status.PodIP); had != nil && had.IsLoopback() && object.Status.PodIP != k.config.address {
		return object.Status.PodIP
	}
	taken := map[string]bool{}
	for _, pod := range k.pods {
		taken[pod.address] = true
	}
	for {
		// Other kubelets on this machine choose too: among so many, two alike are not to be expected.
		address := fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254))
		if !taken[address] {
			return address
		}
	}
}
