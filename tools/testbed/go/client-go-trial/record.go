package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"
)

// record is what happened in the namespace: one entry for each event, by its resource version, as the kube-apiserver itself tells.
type record struct {
	mutex    sync.Mutex
	versions []uint64
	last     uint64
}

// keepRecord watches the kube-apiserver directly, from now on. Ends with the context; what goes wrong ends the program, as
// nothing could be said without a record.
func keepRecord(ctx context.Context, client kubernetes.Interface, namespace string) (*record, error) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &configMaps{client, namespace})
	if err != nil {
		return nil, err
	}
	kept := &record{}
	go func() {
		for event := range watcher.ResultChan() {
			kept.add(event)
		}
	}()
	return kept, nil
}

func (r *record) add(event watch.Event) {
	object, isConfigMap := event.Object.(*v1.ConfigMap)
	if !isConfigMap {
		panic(fmt.Sprintf("the record broke: %v", event.Object))
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.last = versionOf(object)
	r.versions = append(r.versions, r.last)
}

// events is how many there were, and the resource version of the last one.
func (r *record) events() (count int, last uint64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.versions), r.last
}

// all is every resource version that there was, in order.
func (r *record) all() []uint64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]uint64(nil), r.versions...)
}

// versionOf: they count up through all objects of one etcd.
func versionOf(object metav1.Object) uint64 {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resource version %q is no number", object.GetResourceVersion()))
	}
	return version
}
