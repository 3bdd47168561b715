package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// bindPods stands in for the scheduler of a cluster with one node: every pod that waits for a node is given this one,
// wherever it wants to go. Ends with the context.
func (k *kubelet) bindPods(ctx context.Context) {
	waiting := fields.OneTermEqualSelector("spec.nodeName", "")
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "pods", v1.NamespaceAll, waiting),
		ObjectType:    &v1.Pod{},
		// What could not be bound is tried again.
		ResyncPeriod: apiRetryPause,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { k.bind(ctx, object.(*v1.Pod)) },
			UpdateFunc: func(_, object any) { k.bind(ctx, object.(*v1.Pod)) },
		},
	})
	informer.RunWithContext(ctx)
}

func (k *kubelet) bind(ctx context.Context, pod *v1.Pod) {
	if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: k.config.nodeName},
	}
	err := k.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
		klog.ErrorS(err, "A pod could not be given a node", "pod", klog.KObj(pod))
	}
}
