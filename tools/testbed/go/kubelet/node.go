package main

import (
	"context"
	"encoding/json"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const registerTimeout = 30 * time.Second

// registerNode makes the node, unless it is there from an earlier run, and says where its kubelet is. There is no
// heartbeat: the test clusters have no controller that would miss it.
func registerNode(ctx context.Context, client kubernetes.Interface, config config) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   config.nodeName,
		Labels: map[string]string{v1.LabelHostname: config.nodeName, v1.LabelOSStable: runtime.GOOS, v1.LabelArchStable: runtime.GOARCH},
	}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": nodeStatus(config)})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, config.nodeName, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func nodeStatus(config config) v1.NodeStatus {
	room := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		v1.ResourceMemory: resource.MustParse("4Gi"),
		v1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	now := metav1.Now()
	return v1.NodeStatus{
		Capacity:    room,
		Allocatable: room,
		Conditions: []v1.NodeCondition{{
			Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "the test kubelet is ready",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}},
		Addresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: config.address},
			{Type: v1.NodeHostName, Address: config.nodeName},
		},
		DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: int32(config.port)}},
		NodeInfo: v1.NodeSystemInfo{
			KubeletVersion: "v" + version, OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
			ContainerRuntimeVersion: "processes://" + version,
		},
	}
}
