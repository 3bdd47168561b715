package main

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shutdownGrace is what containers get when the kubelet ends.
const shutdownGrace = time.Second

// pod is one life of a pod on this node: from when it is seen until its processes are gone.
type pod struct {
	kubelet *kubelet
	// object is the pod as it was first seen. What matters of it does not change.
	object     *v1.Pod
	started    metav1.Time
	containers []*container
	// changed says that the status has to be written; one more change while it is full is told by the same write.
	changed chan struct{}

	// stopping ends when the containers shall end; killing when they must.
	stopping, killing context.Context
	stop, kill        context.CancelFunc
	// gone ends when the API server no longer has the pod.
	gone       context.Context
	deleted    func()
	deleteOnce sync.Once
}

func newPod(kubelet *kubelet, object *v1.Pod) *pod {
	p := &pod{kubelet: kubelet, object: object, started: metav1.Now(), changed: make(chan struct{}, 1)}
	p.stopping, p.stop = context.WithCancel(context.Background())
	p.killing, p.kill = context.WithCancel(context.Background())
	gone, forget := context.WithCancel(context.Background())
	p.gone = gone
	p.deleted = func() { forget(); p.stop(); p.kill() }
	for index := range object.Spec.Containers {
		p.containers = append(p.containers, newContainer(p, &object.Spec.Containers[index]))
	}
	return p
}

// run starts the containers and reports what becomes of them, until the pod is deleted or the kubelet ends. When it
// returns, no process of the pod is left.
func (p *pod) run(kubelet context.Context) {
	defer p.kill()
	detach := context.AfterFunc(kubelet, func() { p.stopWithin(shutdownGrace) })
	defer detach()
	var running sync.WaitGroup
	if problem := unsupported(p.object); problem != "" {
		p.write(kubelet, v1.PodStatus{Phase: v1.PodFailed, Reason: "Unsupported", Message: problem})
	} else {
		for _, container := range p.containers {
			running.Add(1)
			go func() { defer running.Done(); container.run() }()
		}
	}
	allEnded := make(chan struct{})
	go func() { running.Wait(); <-p.stopping.Done(); close(allEnded) }()
	for {
		select {
		case <-p.changed:
			p.write(kubelet, p.status())
		case <-allEnded:
			// Whoever asks what became of the pod shall see how its processes ended.
			p.write(kubelet, p.status())
			if kubelet.Err() == nil && p.gone.Err() == nil {
				p.deleteFromAPI(kubelet)
			}
			return
		}
	}
}

// deleteGracefully ends the pod, as its deletion in the API asks for; the second time does nothing.
func (p *pod) deleteGracefully(object *v1.Pod) {
	grace := time.Duration(0)
	if object.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*object.DeletionGracePeriodSeconds) * time.Second
	}
	p.deleteOnce.Do(func() { p.stopWithin(grace) })
}

func (p *pod) stopWithin(grace time.Duration) {
	p.stop()
	time.AfterFunc(grace, p.kill)
}

// tell has the status written soon.
func (p *pod) tell() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// find is the container of that name; the API server always names one.
func (p *pod) find(name string) *container {
	for _, container := range p.containers {
		if container.spec.Name == name {
			return container
		}
	}
	return nil
}

// unsupported says what of the pod this kubelet cannot do: it rather fails than run something else than was asked for.
func unsupported(object *v1.Pod) string {
	switch {
	case len(object.Spec.InitContainers) > 0:
		return "the test kubelet has no init containers"
	case len(object.Spec.Volumes) > 0:
		return "the test kubelet has no volumes"
	}
	for _, container := range object.Spec.Containers {
		for _, variable := range container.Env {
			if variable.ValueFrom != nil {
				return "the test kubelet knows environment variables with a value only"
			}
		}
		if len(container.EnvFrom) > 0 {
			return "the test kubelet knows environment variables with a value only"
		}
	}
	return ""
}
