package main

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// configMaps lists and watches those of a namespace.
type configMaps struct {
	client    kubernetes.Interface
	namespace string
}

func (c *configMaps) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return c.client.CoreV1().ConfigMaps(c.namespace).List(ctx, options)
}

func (c *configMaps) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.client.CoreV1().ConfigMaps(c.namespace).Watch(ctx, options)
}

func (c *configMaps) List(options metav1.ListOptions) (runtime.Object, error) {
	return c.ListWithContext(context.Background(), options)
}

func (c *configMaps) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return c.WatchWithContext(context.Background(), options)
}

// counted counts what an informer asks for, and what it is refused.
type counted struct {
	configMaps
	seen                    *seen
	lists, watches          atomic.Int64
	listErrors, watchErrors atomic.Int64
}

func (c *counted) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	c.lists.Add(1)
	list, err := c.configMaps.ListWithContext(ctx, options)
	if err != nil {
		c.listErrors.Add(1)
		return nil, err
	}
	c.seen.listed(list)
	return list, nil
}

func (c *counted) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	c.watches.Add(1)
	watching, err := c.configMaps.WatchWithContext(ctx, options)
	if err != nil {
		c.watchErrors.Add(1)
		return nil, err
	}
	return watch.Filter(watching, func(event watch.Event) (watch.Event, bool) {
		if object, isConfigMap := event.Object.(*v1.ConfigMap); isConfigMap {
			c.seen.arrived(versionOf(object))
		}
		return event, true
	}), nil
}

func (c *counted) List(options metav1.ListOptions) (runtime.Object, error) {
	return c.ListWithContext(context.Background(), options)
}

func (c *counted) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return c.WatchWithContext(context.Background(), options)
}
