package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// objects live at once; each is made, changed `changes` times and deleted.
const objects, changes = 20, 8

// write makes, changes and deletes ConfigMaps, `perSecond` writes in a second, until the context ends. It returns how many there were.
func write(ctx context.Context, client kubernetes.Interface, namespace string, perSecond int) (int, error) {
	api := client.CoreV1().ConfigMaps(namespace)
	pace := time.NewTicker(time.Second / time.Duration(perSecond))
	defer pace.Stop()
	for writes := 0; ; writes++ {
		select {
		case <-ctx.Done():
			return writes, nil
		case <-pace.C:
		}
		slot, step := writes%objects, writes/objects%(changes+2)
		object := &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%d", slot)},
			Data:       map[string]string{"write": fmt.Sprint(writes)},
		}
		var err error
		// With a context of its own: what was begun is to be known to have happened.
		call, cancel := context.WithTimeout(context.Background(), time.Minute)
		switch step {
		case 0:
			_, err = api.Create(call, object, metav1.CreateOptions{})
		case changes + 1:
			err = api.Delete(call, object.Name, metav1.DeleteOptions{})
		default:
			_, err = api.Update(call, object, metav1.UpdateOptions{})
		}
		cancel()
		if err != nil {
			return writes, fmt.Errorf("write %d: %w", writes, err)
		}
	}
}
