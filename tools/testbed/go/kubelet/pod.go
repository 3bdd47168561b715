package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// shutdownGrace is what containers get when the kubelet ends.
const shutdownGrace = time.Second

// pod is one life of a pod on this node: from when it is seen until its processes are gone.
type pod struct {
	kubelet *kubelet
	// object is the pod as it was first seen. What matters of it does not change.
	object *v1.Pod
	// address is the pod's own.
	address    string
	started    metav1.Time
	containers []*container
	// inits run before them, one after the other.
	inits []*container
	// changed says that the status has to be written; one more change while it is full is told by the same write.
	changed chan struct{}
	// tokens are those of its service account, by their path in a volume.
	tokens map[string]token
	// reported are the conditions that were reported last.
	reported []v1.PodCondition

	// stopping ends when the containers shall end; killing when they must.
	stopping, killing context.Context
	stop, kill        context.CancelFunc
	// gone ends when the API server no longer has the pod.
	gone       context.Context
	deleted    func()
	deleteOnce sync.Once
}

func newPod(kubelet *kubelet, object *v1.Pod, address string) *pod {
	p := &pod{
		kubelet: kubelet, object: object, address: address, started: metav1.Now(),
		changed: make(chan struct{}, 1), tokens: map[string]token{},
	}
	p.stopping, p.stop = context.WithCancel(context.Background())
	p.killing, p.kill = context.WithCancel(context.Background())
	gone, forget := context.WithCancel(context.Background())
	p.gone = gone
	p.deleted = func() { forget(); p.stop(); p.kill() }
	for index := range object.Spec.InitContainers {
		p.inits = append(p.inits, newContainer(p, &object.Spec.InitContainers[index]))
		p.inits[index].runsOnce = true
	}
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
		running.Add(1)
		go func() { defer running.Done(); p.runContainers(&running) }()
		p.tell()
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
			if kubelet.Err() == nil {
				p.removeVolumes()
				p.deleteFromAPI(kubelet)
			}
			return
		}
	}
}

// runContainers starts the containers once their volumes are there, and keeps these up to date.
func (p *pod) runContainers(running *sync.WaitGroup) {
	if !p.mount() {
		return
	}
	running.Add(1)
	go func() { defer running.Done(); p.keepVolumes(p.stopping) }()
	for _, container := range p.inits {
		if !container.run() {
			return
		}
	}
	for _, container := range p.containers {
		running.Add(1)
		go func() { defer running.Done(); container.run() }()
	}
}

// mount makes the volumes, however often that takes: what they hold may still be to come. False when the pod stops.
func (p *pod) mount() bool {
	for p.stopping.Err() == nil {
		ctx, cancel := context.WithTimeout(p.stopping, apiTimeout)
		err := p.syncVolumes(ctx)
		cancel()
		if err == nil {
			return true
		}
		for _, container := range p.containers {
			container.wait("ContainerCreating", err.Error())
		}
		select {
		case <-p.stopping.Done():
		case <-time.After(apiRetryPause):
		}
	}
	return false
}

// removeVolumes: what the pod's processes left there, and its secrets, end with it. Its logs stay.
func (p *pod) removeVolumes() {
	if err := os.RemoveAll(filepath.Join(p.dir(), "volumes")); err != nil {
		klog.ErrorS(err, "A pod's volumes could not be removed", "pod", klog.KObj(p.object))
	}
}

func (p *pod) dir() string {
	return filepath.Join(p.kubelet.config.rootDir, "pods", string(p.object.UID))
}

// grace is how long its containers may take to end.
func (p *pod) grace() time.Duration {
	if seconds := p.object.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
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
	for _, container := range slices.Concat(p.inits, p.containers) {
		if container.spec.Name == name {
			return container
		}
	}
	return nil
}
