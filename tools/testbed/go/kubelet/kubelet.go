package main

import (
	"context"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// kubelet keeps one pod running for each that the API server has for this node.
type kubelet struct {
	config config
	client kubernetes.Interface
	// services is nil where nobody asked for them.
	services *services
	// synced: the pods that were there at the start are known.
	synced atomic.Bool

	mu   sync.Mutex
	pods map[types.UID]*pod
	// ended counts the lives of pods, to wait for them.
	ended sync.WaitGroup
}

func newKubelet(config config, client kubernetes.Interface) *kubelet {
	return &kubelet{config: config, client: client, pods: map[types.UID]*pod{}}
}

// run watches the node's pods until the context ends, then ends their processes and returns when they are gone. The
// pods stay as they are in the API: another run on this node starts them again.
func (k *kubelet) run(ctx context.Context) {
	onThisNode := fields.OneTermEqualSelector("spec.nodeName", k.config.nodeName)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(k.client.CoreV1().RESTClient(), "pods", v1.NamespaceAll, onThisNode),
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { k.update(ctx, object.(*v1.Pod)) },
			UpdateFunc: func(_, object any) { k.update(ctx, object.(*v1.Pod)) },
			DeleteFunc: func(object any) { k.forget(object) },
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			k.synced.Store(true)
			klog.InfoS("The kubelet is ready", "node", k.config.nodeName)
		}
	}()
	informer.RunWithContext(ctx)
	k.ended.Wait()
}

func (k *kubelet) update(ctx context.Context, object *v1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	running, known := k.pods[object.UID]
	if !known {
		terminal := object.Status.Phase == v1.PodSucceeded || object.Status.Phase == v1.PodFailed
		if (terminal && object.DeletionTimestamp == nil) || ctx.Err() != nil {
			return
		}
		running = newPod(k, object, k.addressOf(object))
		k.pods[object.UID] = running
		k.ended.Add(1)
		go func() {
			defer k.ended.Done()
			running.run(ctx)
		}()
	}
	if object.DeletionTimestamp != nil {
		running.deleteGracefully(object)
	}
}

// forget ends what still runs for a pod that the API server no longer has.
func (k *kubelet) forget(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	gone, ok := object.(*v1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if running, known := k.pods[gone.UID]; known {
		running.deleted()
		delete(k.pods, gone.UID)
	}
}

// find is the pod of that name, as the API server's requests name it.
func (k *kubelet) find(namespace, name string) *pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range k.pods {
		if pod.object.Namespace == namespace && pod.object.Name == name {
			return pod
		}
	}
	return nil
}
