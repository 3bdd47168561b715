package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type seenKey struct{}

// asking is a context in which each object is asked for once, however many variables are made of it.
func asking(ctx context.Context) context.Context {
	return context.WithValue(ctx, seenKey{}, map[string]map[string][]byte{})
}

// configMap is what the pod's namespace has under that name; nothing if it has none and that is optional.
func (p *pod) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	return once(ctx, "configmaps/"+name, optional, func() (map[string][]byte, error) {
		found, err := p.kubelet.client.CoreV1().ConfigMaps(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		data := map[string][]byte{}
		for key, value := range found.Data {
			data[key] = []byte(value)
		}
		for key, value := range found.BinaryData {
			data[key] = value
		}
		return data, nil
	})
}

// secret is what the pod's namespace has under that name; nothing if it has none and that is optional.
func (p *pod) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	return once(ctx, "secrets/"+name, optional, func() (map[string][]byte, error) {
		found, err := p.kubelet.client.CoreV1().Secrets(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return found.Data, nil
	})
}

// once asks unless the context has the answer. That there is no such object is an answer for who does not need one.
func once(ctx context.Context, key string, optional *bool, ask func() (map[string][]byte, error)) (map[string][]byte, error) {
	seen, keeps := ctx.Value(seenKey{}).(map[string]map[string][]byte)
	if data, known := seen[key]; known {
		return data, nil
	}
	data, err := ask()
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil, nil
	}
	if err == nil && keeps {
		seen[key] = data
	}
	return data, err
}
