package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configMap is what the pod's namespace has under that name; nothing if it has none and that is optional.
func (p *pod) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	found, err := p.kubelet.client.CoreV1().ConfigMaps(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessMissing(err, optional)
	}
	data := map[string][]byte{}
	for key, value := range found.Data {
		data[key] = []byte(value)
	}
	for key, value := range found.BinaryData {
		data[key] = value
	}
	return data, nil
}

// secret is what the pod's namespace has under that name; nothing if it has none and that is optional.
func (p *pod) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	found, err := p.kubelet.client.CoreV1().Secrets(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessMissing(err, optional)
	}
	return found.Data, nil
}

func unlessMissing(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}
